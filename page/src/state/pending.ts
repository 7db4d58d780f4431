/** The parts above something that people press: it is shown when all of them have come, so that nothing moves below a finger. */

import { createContext } from "preact";
import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Takes a part of the screen that waits for the server, and returns what ends that. */
type Begin = () => () => void;

/** Around the parts that are waited for. */
export const Pending = createContext<Begin>(() => () => undefined);

/** Marks that this part of the screen does not have its full height yet. */
export function usePending(isPending: boolean): void {
  const begin = useContext(Pending);
  useLayoutEffect(() => (isPending ? begin() : undefined), [isPending, begin]);
}

/** Whether all parts below `Pending` have come, once `isBegun`. A shown part stays: a part that is opened later is opened by its reader. */
export function useSettled(isBegun: boolean): [isSettled: boolean, begin: Begin] {
  const [isSettled, setSettled] = useState(false);
  const [, again] = useState(0);
  const count = useRef(0);
  const { current: begin } = useRef<Begin>(() => {
    count.current += 1;
    return () => {
      count.current -= 1;
      again((times) => times + 1);
    };
  });
  // The effects of the parts come before this one.
  useLayoutEffect(() => {
    if (isBegun && count.current === 0) setSettled(true);
  });
  return [isSettled, begin];
}
