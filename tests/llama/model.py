"""Writes a llama of random weights as a GGUF file: two layers, a token for each byte, the same weights each time. Its words mean nothing. What
llama.cpp does with it (the grammar, the tokens, the cut at the most tokens) is what it does with any model.

    model.py FILE [endless]

With `endless` it never ends an answer by itself.
"""
import sys

import gguf
import numpy

SEED = 18
WIDTH, LAYERS, HEADS, INNER, CONTEXT = 64, 2, 4, 128, 65536
UNKNOWN, BEGIN, END = 0, 1, 2
# How much likelier than by chance a token is: the end of an answer, and what never comes.
ENDS, NEVER = 8.0, -100.0


def tokens():
    """Three that are no text, then the bytes. The characters of ASCII stand as themselves too: a grammar is about characters."""
    yield b"<unk>", gguf.TokenType.UNKNOWN
    yield b"<s>", gguf.TokenType.CONTROL
    yield b"</s>", gguf.TokenType.CONTROL
    for byte in range(256):
        yield b"<0x%02X>" % byte, gguf.TokenType.BYTE
    for byte in range(0x20, 0x7F):
        yield "▁".encode() if byte == 0x20 else bytes([byte]), gguf.TokenType.NORMAL


def likelihoods(words, kinds, ends):
    """Of each token. Its words are printable ASCII without a backslash: they are text for the server, and a string of JSON has no escapes."""
    for word, kind in zip(words, kinds):
        is_said = kind == gguf.TokenType.NORMAL and word != b"\\"
        yield 0 if is_said else ends if word == words[END] else NEVER


def write(place, ends):
    random = numpy.random.default_rng(SEED)
    writer = gguf.GGUFWriter(place, "llama")
    writer.add_name("random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    words, kinds = zip(*tokens())
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(words)
    writer.add_token_scores([0.0] * len(words))
    writer.add_token_types(kinds)
    writer.add_unk_token_id(UNKNOWN)
    writer.add_bos_token_id(BEGIN)
    writer.add_eos_token_id(END)
    writer.add_chat_template("{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant:")

    def weights(name, *shape, **fixed):
        values = random.normal(0, 0.3, shape).astype(numpy.float32)
        # The first member of what flows through the layers is the same everywhere, and makes tokens likelier.
        if "row" in fixed:
            values[0, :] = fixed["row"]
        if "column" in fixed:
            values[:, 0] = fixed["column"]
        writer.add_tensor(name, values)

    def ones(name):
        writer.add_tensor(name, numpy.ones(WIDTH, dtype=numpy.float32))
    weights("token_embd.weight", len(words), WIDTH, column=1)
    weights("output.weight", len(words), WIDTH, column=list(likelihoods(words, kinds, ends)))
    ones("output_norm.weight")
    for layer in range(LAYERS):
        ones(f"blk.{layer}.attn_norm.weight")
        ones(f"blk.{layer}.ffn_norm.weight")
        for name in ("attn_q", "attn_k", "attn_v"):
            weights(f"blk.{layer}.{name}.weight", WIDTH, WIDTH)
        weights(f"blk.{layer}.attn_output.weight", WIDTH, WIDTH, row=0)
        for name in ("ffn_gate", "ffn_up"):
            weights(f"blk.{layer}.{name}.weight", INNER, WIDTH)
        weights(f"blk.{layer}.ffn_down.weight", WIDTH, INNER, row=0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(sys.argv[1], NEVER if "endless" in sys.argv[2:] else ENDS)
