/**
 * Flow state in transit between two instances. Boards write a table as rows of numbers; software as one string, base64 of
 *
 *     "OFR1" | columns u8 | width of each column in bytes u8 (1, 2, 4 or 8) | rows u32 | rows, packed
 *
 * with all numbers little-endian (agents/nfs/flow_rows.h). The columns are the same in both. Rows among which is one of IPv6
 * begin with "OFR2": their columns of addresses are 16 bytes wide, and IPv4 addresses in them IPv4-mapped.
 */
export interface FlowRows {
  /** Width of each column in bytes. */
  readonly widths: readonly number[];
  /** Packed bytes of each row. */
  readonly rows: readonly Uint8Array[];
}

const MAGIC = [0x4f, 0x46, 0x52];
const VERSIONS = { numbers: 0x31, addresses: 0x32 };
const ADDRESS_BYTES = 16;
const IPV4_BYTES = 4;
/** Base64 of MAGIC. */
const PREFIX = 'T0ZS';

/** Whether a value of exported state is a table of binary rows. */
export const isFlowRows = (value: unknown): value is string => typeof value === 'string' && value.startsWith(PREFIX);

/** Throws if the text is not a table of version 1 or 2. */
export function parseFlowRows(text: string): FlowRows {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const columns = bytes[4] ?? 0;
  const widths = [...bytes.subarray(5, 5 + columns)];
  const start = 5 + columns + 4;
  const version = bytes[MAGIC.length];
  if (bytes.length < start || MAGIC.some((byte, i) => bytes[i] !== byte) || !Object.values(VERSIONS).includes(version!))
    throw new Error('flow state has no binary rows of version 1 or 2');
  const known = version === VERSIONS.addresses ? [1, 2, 4, 8, ADDRESS_BYTES] : [1, 2, 4, 8];
  if (columns === 0 || widths.some((width) => !known.includes(width)))
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
  const version = widths.includes(ADDRESS_BYTES) ? VERSIONS.addresses : VERSIONS.numbers;
  bytes.set([...MAGIC, version, widths.length, ...widths]);
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

/** The rows without those that have an IPv6 address, for boards, which know only IPv4: every address is 4 bytes wide. */
export function ipv4FlowRows({ widths, rows }: FlowRows): FlowRows {
  const columns = widths.map((width, i) => ({ width, at: widths.slice(0, i).reduce((sum, each) => sum + each, 0) }));
  const addresses = columns.filter(({ width }) => width === ADDRESS_BYTES);
  const ipv4 = rows.filter((row) => addresses.every(({ at }) => isIpv4Mapped(row.subarray(at, at + ADDRESS_BYTES))));
  const narrow = (width: number) => (width === ADDRESS_BYTES ? IPV4_BYTES : width);
  return {
    widths: widths.map(narrow),
    rows: ipv4.map((row) =>
      Uint8Array.from(columns.flatMap(({ width, at }) => [...row.subarray(at, at + narrow(width))])),
    ),
  };
}

/** RFC 4291 2.5.5.2, little-endian. */
function isIpv4Mapped(address: Uint8Array): boolean {
  return address.every((byte, i) => i < IPV4_BYTES || byte === (i < 6 ? 0xff : 0));
}

/**
 * The rows as arrays of numbers, as boards write them. Numbers above 2^53 lose precision, and so do IPv6 addresses.
 */
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
