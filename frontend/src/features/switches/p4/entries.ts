import { namedP4, type P4Content, type P4Entries, type P4Entry, type P4Reading } from '@orrery/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { callFull } from '../../../shared/api/client.js';

export type P4Table = P4Content['tables'][number];

const POLL_MS = 2000;

/** What the tables of a switch hold; read while it is looked at. */
export function useP4Tables(id: string, connected: boolean) {
  return useQuery({
    queryKey: ['p4-entries', id, 'tables'],
    enabled: connected,
    refetchInterval: POLL_MS,
    retry: false,
    queryFn: async ({ signal }) => (await callFull('readP4Tables', { params: { id } }, { signal })).data,
  });
}

/** What Orrery keeps in the tables of a switch. */
export function useP4Entries(id: string) {
  return useQuery({
    queryKey: ['p4-entries', id, 'kept'],
    queryFn: async ({ signal }) => (await callFull('getP4Entries', { params: { id } }, { signal })).data,
  });
}

/** Changes the entries as they are now: nothing that somebody else changed meanwhile is lost. */
export function useChangeEntries(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (change: (content: P4Entries) => P4Entries) => {
      const { data, etag } = await callFull('getP4Entries', { params: { id } });
      const body = change(data);
      return callFull('putP4Entries', { params: { id }, body }, etag ? { ifMatch: etag } : {});
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['p4-entries', id] }),
  });
}

export async function exampleEntries(id: string): Promise<P4Entries> {
  return (await callFull('getExampleP4Entries', { params: { id } })).data;
}

/** An entry as a row: kept, installed, or both. */
export interface Row {
  readonly key: string;
  readonly entry: P4Entry;
  readonly packets: number | null;
  readonly bytes: number | null;
  readonly state: 'installed' | 'waits' | 'foreign';
}

/** Of one table: entries that Orrery keeps, with their counters where the switch has them, and those of others. */
export function rowsOf(
  content: P4Content,
  table: P4Table,
  kept: P4Entries | undefined,
  reading: P4Reading | undefined,
): Row[] {
  const key = (entry: P4Entry) => keyOf(content, entry);
  const isOf = (entry: P4Entry) => isOfTable(content, table, entry);
  const installed = reading?.entries.filter(isOf) ?? [];
  const found = new Map(installed.map((one) => [key(one), one]));
  const own = (kept?.entries.filter(isOf) ?? []).map((entry): Row => {
    const there = found.get(key(entry));
    const { packets = null, bytes = null } = there ?? {};
    return { key: key(entry), entry, packets, bytes, state: there ? 'installed' : 'waits' };
  });
  const foreign = installed.flatMap(({ packets, bytes, own: isOwn, ...entry }): Row[] =>
    isOwn ? [] : [{ key: `other ${key(entry)}`, entry, packets, bytes, state: 'foreign' }],
  );
  return [...own, ...foreign];
}

/** Whether an entry or a default action names the table, in full or by the last part of its name. */
export const isOfTable = ({ tables }: P4Content, { name }: P4Table, one: { readonly table: string }): boolean =>
  namedP4(tables, one.table)?.name === name;

/** The same for entries of a table that match the same packets, as they are written. */
export function keyOf({ tables }: P4Content, { table, match, priority }: P4Entry): string {
  return JSON.stringify([namedP4(tables, table)?.name ?? table, Object.entries(match).sort(), priority ?? 0]);
}

export const listText = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');

/** How a value of a key is written, by its kind of match. */
export const MATCH_HINTS: Readonly<Record<P4Table['fields'][number]['match'], string>> = {
  exact: 'a value',
  lpm: 'value/length; empty: every value',
  ternary: 'value, value/length or value&&&mask; empty: every value',
  range: 'low..high or a value; empty: every value',
  optional: 'a value; empty: every value',
};

/** What a value of so many bits can be besides a number. */
export const widthText = (bits: number): string =>
  ({
    9: 'a port by its name or number',
    32: '32 bits, or 10.0.0.1',
    48: '48 bits, or a MAC address',
    128: '128 bits, or an IPv6 address',
  })[bits] ?? `${bits} ${bits === 1 ? 'bit' : 'bits'}`;
