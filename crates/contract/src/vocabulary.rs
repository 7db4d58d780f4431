//! Closed vocabularies: an enum and its words. Other words are refused.

/// Declares an enum whose variants have one word each, with `ALL`, `word` and `parse`.
macro_rules! vocabulary {
    ($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum $name {
            $(
                $(#[$inner])*
                #[cfg_attr(feature = "serde", serde(rename = $word))]
                $variant,
            )+
        }

        impl $name {
            /// Every value, in the order of the contract.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The word on the wire.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }

            /// Reads the word.
            #[must_use]
            pub fn parse(word: &str) -> Option<$name> {
                match word {
                    $($word => Some($name::$variant),)+
                    _ => None,
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

pub(crate) use vocabulary;
