import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type MergeProblem, placeMirrorAndMerge, type Spot } from './place.js';

const servers = (n: number) => Array.from({ length: n }, (_, k) => ({ id: `s${k + 1}`, link_bps: 10e9 }));
const BASE: MergeProblem = {
  servers: servers(2),
  upstream: 'switch',
  downstream: 1,
  branches: [[0], [0], [1]],
  sends_original: false,
  packet_bytes: 100,
  rate_pps: 1000,
  switch_mirrors: false,
  switch_merges: false,
};

const find = (problem: MergeProblem, mirror: Spot, merge: Spot, split = false) => {
  const { chosen, rejected } = placeMirrorAndMerge(problem);
  return [chosen!, ...rejected].find((it) => it.mirror === mirror && it.merge === merge && it.split === split)!;
};

describe('placeMirrorAndMerge', () => {
  it('6.5.2: NAT and FW on one server, IPS and WANX on another: merge where the packet goes on', () => {
    const { chosen } = placeMirrorAndMerge(BASE);
    expect(chosen).toMatchObject({ mirror: 0, merge: 1, split: true, link_bytes: 500, switch_traversals: 2 });
    const naive = find(BASE, 0, 0);
    expect(naive).toMatchObject({
      link_bytes: 700,
      switch_traversals: 3,
      because: '200 more bytes of each packet over links',
    });
    expect(find(BASE, 0, 1)).toMatchObject({ link_bytes: 700 });
  });

  it('figure 6.8: two NFs on two servers cost as much as in sequence only with mirror and merge in the switch', () => {
    const two: MergeProblem = {
      ...BASE,
      downstream: 'switch',
      branches: [[0], [1]],
      switch_mirrors: true,
      switch_merges: true,
    };
    const sequential = 400;
    expect(find(two, 0, 1).link_bytes).toBe(sequential + 200);
    expect(find(two, 'switch', 1).link_bytes).toBe(sequential + 100);
    expect(find(two, 'switch', 'switch').link_bytes).toBe(sequential);
    expect(placeMirrorAndMerge(two).chosen).toMatchObject({ mirror: 'switch', merge: 'switch', switch_traversals: 2 });
  });

  it('6.6.1: mirrors on the server where the packet already is, rather than back in the switch', () => {
    const vpn: MergeProblem = { ...BASE, upstream: 0, branches: [[0], [1]], switch_mirrors: true };
    const { chosen } = placeMirrorAndMerge(vpn);
    expect(chosen).toMatchObject({ mirror: 0, merge: 1 });
    expect(find(vpn, 'switch', 1).link_bytes).toBeGreaterThan(chosen!.link_bytes);
  });

  it('everything on one server stays on it', () => {
    const { chosen } = placeMirrorAndMerge({ ...BASE, upstream: 0, downstream: 0, branches: [[0], [0]] });
    expect(chosen).toMatchObject({ mirror: 0, merge: 0, link_bytes: 0, switch_traversals: 0 });
  });

  it('sends the packet as it was to a merge elsewhere when every branch writes', () => {
    const readers: MergeProblem = { ...BASE, servers: servers(3), branches: [[0], [1]], upstream: 0, downstream: 2 };
    const writers: MergeProblem = { ...readers, sends_original: true };
    expect(find(readers, 0, 2).link_bytes).toBe(2 * (100 + 200));
    expect(find(writers, 0, 2).link_bytes).toBe(2 * (100 + 200 + 100));
    expect(find(writers, 0, 1).link_bytes - find(readers, 0, 1).link_bytes).toBe(200);
    expect(find(writers, 0, 1, true).link_bytes).toBe(find(readers, 0, 1, true).link_bytes);
    expect(find(writers, 0, 0).link_bytes).toBe(find(readers, 0, 0).link_bytes);
  });

  const problems = fc
    .record({
      n: fc.integer({ min: 1, max: 4 }),
      ends: fc.tuple(fc.nat(4), fc.nat(4)),
      branches: fc.array(fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 4 }),
      flags: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
      link: fc.constantFrom(0, 1.7e6, 4e6, 10e9),
    })
    .map(
      ({ n, ends, branches, flags, link }): MergeProblem => ({
        ...BASE,
        servers: servers(n).map((it) => ({ ...it, link_bps: link })),
        upstream: ends[0] < n ? ends[0] : 'switch',
        downstream: ends[1] < n ? ends[1] : 'switch',
        branches: branches.map((it) => it.map((k) => k % n)),
        switch_mirrors: flags[0],
        switch_merges: flags[1],
        sends_original: flags[2],
      }),
    );

  it('chooses what no other option beats, fills no link, and never loses by a switch that can do more', () => {
    let full = 0;
    fc.assert(
      fc.property(problems, (problem) => {
        const { chosen, rejected } = placeMirrorAndMerge(problem);
        if (!chosen) {
          full++;
          expect(rejected.every(({ constraint }) => constraint?.constraint === 'link-bandwidth')).toBe(true);
          return;
        }
        expect(chosen.busiest_link_bytes * 8 * problem.rate_pps).toBeLessThanOrEqual(problem.servers[0]!.link_bps);
        for (const it of rejected) if (!it.constraint) expect(it.link_bytes).toBeGreaterThanOrEqual(chosen.link_bytes);
        const more = placeMirrorAndMerge({ ...problem, switch_mirrors: true, switch_merges: true });
        expect(more.chosen!.link_bytes).toBeLessThanOrEqual(chosen.link_bytes);
      }),
      { numRuns: 800, seed: 3 },
    );
    expect(full).toBeGreaterThan(20);
  });

  it.each([
    ['/branches', { ...BASE, branches: [[0]] }],
    ['/branches/1', { ...BASE, branches: [[0], []] }],
    ['/branches/1/0', { ...BASE, branches: [[0], [2]] }],
    ['/upstream', { ...BASE, upstream: 5 }],
    ['/packet_bytes', { ...BASE, packet_bytes: 0 }],
    ['/rate_pps', { ...BASE, rate_pps: Number.NaN }],
    ['/servers', { ...BASE, servers: [] }],
    ['/servers/0/link_bps', { ...BASE, servers: [{ id: 'x', link_bps: -1 }] }],
  ])('refuses a bad problem at %s', (field, problem) => {
    expect(() => placeMirrorAndMerge(problem)).toThrow(expect.objectContaining({ name: 'BadProblem', field }));
  });
});
