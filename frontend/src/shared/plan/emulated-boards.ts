import { useCallback, useMemo } from 'react';
import { useInfrastructure, useNfInstances } from '../api/queries.js';

/** What to say beside a prediction for a chain on an emulated board, which is slower than the device that is predicted. */
export const REAL_BOARD = 'on a real board; this one is emulated';

/** Ids of the boards that the twin emulates. */
export function useEmulatedBoards(): ReadonlySet<string> {
  const { data } = useInfrastructure();
  return useMemo(() => new Set(data?.boards.flatMap(({ id, origin }) => (origin === 'twin' ? [id] : []))), [data]);
}

/** Whether an NF of a chain runs on an emulated board, so that the chain is predicted faster than it can be measured. */
export function useOnEmulatedBoard(): (chainId: string) => boolean {
  const boards = useEmulatedBoards();
  const { data } = useNfInstances();
  const chains = useMemo(
    () => new Set(data?.flatMap(({ chain_id, slot }) => (slot && boards.has(slot.board) ? [chain_id] : []))),
    [data, boards],
  );
  return useCallback((chainId) => chains.has(chainId), [chains]);
}
