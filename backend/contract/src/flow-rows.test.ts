import { describe, expect, it } from 'vitest';
import { flowRowKey, flowRowNumbers, formatFlowRows, ipv4FlowRows, isFlowRows, parseFlowRows } from './flow-rows.js';

/** What agents/nfs/tests/flow_rows_test.cc writes: columns of 1, 2, 4 and 8 bytes, two rows. */
const FROM_SOFTWARE = 'T0ZSMQQBAgQIAgAAAAECAQQDAgEHBgUEAwIBAP////////////////8fAA==';

/** The same with IPv6: columns of 2, 16 and 1 bytes, a row of IPv4 and one of IPv6. */
const WITH_IPV6 = 'T0ZSMgMCEAECAAAABwACAQAK//8AAAAAAAAAAAAACQgAAQAAAAAAAAAAAAAAuA0BIAo=';

describe('binary rows of flow state', () => {
  it('are parsed as software writes them', () => {
    expect(isFlowRows(FROM_SOFTWARE)).toBe(true);
    const table = parseFlowRows(FROM_SOFTWARE);
    expect(flowRowNumbers(table)).toEqual([
      [1, 0x0102, 0x01020304, 0x01020304050607],
      [255, 65_535, 4_294_967_295, Number.MAX_SAFE_INTEGER],
    ]);
    expect(formatFlowRows(table)).toBe(FROM_SOFTWARE);
    expect(flowRowKey(table.widths, table.rows[0]!, 2)).toBe('\x01\x02\x01');
  });

  it('with an IPv6 address are parsed as software writes them', () => {
    expect(isFlowRows(WITH_IPV6)).toBe(true);
    const table = parseFlowRows(WITH_IPV6);
    expect(table.widths).toEqual([2, 16, 1]);
    expect(table.rows.map((row) => [...row])).toEqual([
      [7, 0, 2, 1, 0, 10, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9],
      [8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xb8, 0x0d, 0x01, 0x20, 10],
    ]);
    expect(formatFlowRows(table)).toBe(WITH_IPV6);
    expect(flowRowKey(table.widths, table.rows[0]!, 2)).not.toBe(flowRowKey(table.widths, table.rows[1]!, 2));
  });

  it('are left to boards without those of IPv6', () => {
    expect(flowRowNumbers(ipv4FlowRows(parseFlowRows(WITH_IPV6)))).toEqual([[7, 0x0a000102, 9]]);
    const numbers = parseFlowRows(FROM_SOFTWARE);
    expect(ipv4FlowRows(numbers)).toEqual(numbers);
  });

  it('may be many or none', () => {
    const rows = Array.from({ length: 100_000 }, (_, i) => Uint8Array.of(i & 0xff, (i >> 8) & 0xff, i >> 16, 0));
    const numbers = flowRowNumbers(parseFlowRows(formatFlowRows({ widths: [4], rows })));
    expect(numbers.every(([number], i) => number === i)).toBe(true);
    expect(parseFlowRows(formatFlowRows({ widths: [4], rows: [] })).rows).toEqual([]);
  });

  it.each([
    ['T0ZS', 'no binary rows of version 1'],
    ['T0ZSMwEBAAAAAA==', 'no binary rows of version 1'],
    ['T0ZSMQEQAAAAAA==', 'unknown widths'],
    ['T0ZSMgEDAAAAAA==', 'unknown widths'],
    ['T0ZSMQEDAAAAAA==', 'unknown widths'],
    ['T0ZSMQAAAAAA', 'unknown widths'],
    ['T0ZSMQEBAgAAAAE=', 'the 2 rows'],
    ['T0ZSMQEBAAAAAAE=', 'the 0 rows'],
  ])('are rejected when damaged: %s', (text, reason) => {
    expect(() => parseFlowRows(text)).toThrow(reason);
  });
});
