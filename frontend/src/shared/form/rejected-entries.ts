import { createContext, useContext, useEffect, useId } from 'react';

/** Told by each field, under a key of its own, what is wrong with an entry that it shows and did not take; null: nothing any more. */
export type OnRejected = (key: string, problem: string | null) => void;

/** The form around a field. What it edits must not be sent while a field shows something else. */
export const RejectedEntries = createContext<OnRejected>(() => undefined);

/** Tells the form around this field while it shows an entry that is not its value. */
export function useRejectedEntry(label: string, problem: string | null): void {
  const tell = useContext(RejectedEntries);
  const key = useId();
  useEffect(() => {
    if (problem === null) return;
    tell(key, label ? `${label}: ${problem}` : problem);
    return () => tell(key, null);
  }, [tell, key, label, problem]);
}
