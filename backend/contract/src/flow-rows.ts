/**
 * Flow state in transit between two instances. Boards write a table as rows of numbers; software as one string, base64 of
 *
 *     "OFR1" | columns u8 | width of each column in bytes u8 (1, 2, 4 or 8) | rows u32 | rows, packed
 *
 * with all numbers little-endian (agents/nfs/flow_rows.h). The columns are the same in both.
 */
export interface FlowRows {
  /** Width of each column in bytes. */
  readonly widths: readonly number[];
  /** Packed bytes of each row. */
  readonly rows: readonly Uint8Array[];
}

const MAGIC = [0x4f, 0x46, 0x52, 0x31];
/** Base64 of the first three bytes of MAGIC. */
const PREFIX = 'T0ZS';

/** Whether a value of exported state is a table of binary rows. */
export const isFlowRows = (value: unknown): value is string => typeof value === 'string' && value.startsWith(PREFIX);

/** Throws if the text is not a table of version 1. */
export function parseFlowRows(text: string): FlowRows {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const columns = bytes[4] ?? 0;
  const widths = [...bytes.subarray(5, 5 + columns)];
  const start = 5 + columns + 4;
  if (bytes.length < start || MAGIC.some((byte, i) => bytes[i] !== byte))
    throw new Error('flow state has no binary rows of version 1');
  if (columns === 0 || widths.some((width) => ![1, 2, 4, 8].includes(width)))
    throw new Error('flow state has columns of unknown widths');
  const count = new DataView(bytes.buffer).getUint32(5 + columns, true);
  const stride = widths.reduce((sum, width) => sum + width, 0);
  if (bytes.length !== start + count * stride)
    throw new Error(`flow state does not contain the ${count} rows that it declares`);
  const rows = Array.from({ length: count }, (_, i) => bytes.subarray(start + i * stride, start + (i + 1) * stride));
  return { widths, rows };
}

export function formatFlowRows({ widths, rows }: FlowRows): string {
  const stride = widths.reduce((sum, width) => sum + width, 0);
  const bytes = new Uint8Array(9 + widths.length + rows.length * stride);
  bytes.set([...MAGIC, widths.length, ...widths]);
  new DataView(bytes.buffer).setUint32(5 + widths.length, rows.length, true);
  for (const [i, row] of rows.entries()) bytes.set(row, 9 + widths.length + i * stride);
  let text = '';
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
}

/** Bytes of the first columns as text: equal for rows with equal columns. */
export function flowRowKey(widths: readonly number[], row: Uint8Array, columns: number): string {
  const bytes = widths.slice(0, columns).reduce((sum, width) => sum + width, 0);
  return String.fromCharCode(...row.subarray(0, bytes));
}

/** The rows as arrays of numbers, as boards write them. Numbers above 2^53 lose precision. */
export function flowRowNumbers({ widths, rows }: FlowRows): number[][] {
  return rows.map((row) => {
    let at = 0;
    return widths.map((width) => {
      let number = 0;
      for (let byte = width - 1; byte >= 0; byte--) number = number * 0x100 + row[at + byte]!;
      at += width;
      return number;
    });
  });
}
