import { randomBytes } from 'node:crypto';
import { Ipv4Prefix, Port } from '@orrery/contract';
import { z } from 'zod';
import type { RegisterWrite } from '../board-port.js';
import { at, word } from '../fields.js';
import { BOARD_MODULES, COMMON_REGISTERS } from '../registers.js';
import { addressText, prefixNumbers } from './addresses.js';
import { readConfig } from './config.js';
import {
  AgeMs,
  idleSeconds,
  keyOf,
  keyWords,
  MOST_IDLE_S,
  readRows,
  TABLE_FLOWS,
  TableFlows,
  Word16,
  Word32,
  youngestFirst,
} from './flows.js';
import type { ModuleAdapter, ModuleSession, SlotAccess } from './module-adapter.js';

const { registers, drops } = BOARD_MODULES.nf_stateful_firewall;
const { DEFAULT_ACTION, IDLE_TIMEOUT_S, TRANSITORY_TIMEOUT_S, EVICTIONS, HASH_KEY, STATE_TABLE } = registers;
const { RULE_PORTS, RULE_MATCH } = registers;
const HASH_KEY_BYTES = 4 * HASH_KEY.count;
const RULES = RULE_MATCH.count;
const PROTOCOLS = { icmp: 1, tcp: 6, udp: 17 };
const STATES = ['none', 'opening', 'established', 'closing'] as const;

/** [next state, drop] at index state * 4 + event: the table of fpga/README.md (HYPER VII-B). */
const TRANSITIONS: readonly (readonly [next: number, drop: 0 | 1])[] = [
  ...([
    [1, 0],
    [0, 1],
    [0, 1],
    [0, 1],
  ] as const), // none
  ...([
    [1, 0],
    [2, 0],
    [3, 0],
    [0, 0],
  ] as const), // opening
  ...([
    [2, 0],
    [2, 0],
    [3, 0],
    [0, 0],
  ] as const), // established
  ...([
    [1, 0],
    [3, 0],
    [3, 0],
    [0, 0],
  ] as const), // closing
];

const Prefix = z.union([z.literal(''), Ipv4Prefix]).default('');
const Protocol = z.union([z.literal(''), z.enum(['icmp', 'tcp', 'udp']), z.int().min(0).max(255)]).default('');
const PortRange = z
  .union([z.literal(''), Port, z.string().regex(/^\d{1,5}(-\d{1,5})?$/, 'must be a port or a range of ports')])
  .default('')
  .transform((text) => {
    const [lo, hi] = text === '' ? [0, 65_535] : String(text).split('-').map(Number);
    return { lo: lo!, hi: hi ?? lo! };
  })
  .refine(({ lo, hi }) => lo <= hi && hi <= 65_535, 'must be a port or a range of ports');

const FirewallConfig = z.strictObject({
  default_action: z.enum(['allow', 'deny']).default('allow'),
  rules: z
    .array(
      z.strictObject({
        action: z.enum(['allow', 'deny']),
        src: Prefix,
        dst: Prefix,
        proto: Protocol,
        dst_port: PortRange,
      }),
    )
    .max(RULES)
    .default([]),
  idle_timeout_s: z.int().min(1).max(MOST_IDLE_S, `a board keeps a flow for at most ${MOST_IDLE_S} s`).default(300),
  transitory_timeout_s: z.int().min(1).max(MOST_IDLE_S).default(30),
  max_flows: TableFlows,
});
type Rule = z.infer<typeof FirewallConfig>['rules'][number];

/** [src, dst, src port, dst port, proto, state, idle ms] */
const Row = z.tuple([Word32, Word32, Word16, Word16, z.int().min(0).max(255), z.int().min(1).max(3), AgeMs]);

function ruleWrites(rule: Rule | undefined, i: number): RegisterWrite[] {
  if (!rule) return [[at(RULE_MATCH, i), 0]];
  const src = prefixNumbers(rule.src || '0.0.0.0/0');
  const dst = prefixNumbers(rule.dst || '0.0.0.0/0');
  const protocol = typeof rule.proto === 'number' ? rule.proto : rule.proto && PROTOCOLS[rule.proto];
  const match = {
    VALID: 1,
    ALLOW: Number(rule.action === 'allow'),
    ANY_PROTOCOL: Number(protocol === ''),
    PROTOCOL: protocol === '' ? 0 : protocol,
  };
  return [
    [at(registers.RULE_SOURCE, i), src.address],
    [at(registers.RULE_SOURCE_MASK, i), src.mask],
    [at(registers.RULE_DESTINATION, i), dst.address],
    [at(registers.RULE_DESTINATION_MASK, i), dst.mask],
    [at(RULE_PORTS, i), word(RULE_PORTS, { FIRST: rule.dst_port.lo, LAST: rule.dst_port.hi })],
    [at(RULE_MATCH, i), word(RULE_MATCH, match)],
  ];
}

class FirewallSession implements ModuleSession {
  constructor(private readonly slot: SlotAccess) {}

  event(): void {}

  async state(limit: number): Promise<Record<string, unknown>> {
    const counters = drops.map((_, i) => at(COMMON_REGISTERS.DROPS, i));
    const [passed, flows_evicted, ...dropped] = await this.slot.readRegisters([
      COMMON_REGISTERS.FRAMES_OUT.address,
      EVICTIONS.address,
      ...counters,
    ]);
    const { flows } = await this.exportState();
    const counted = Object.fromEntries(drops.map((name, i) => [name.replaceAll('-', '_'), dropped[i]!]));
    const rows = flows.slice(0, limit).map(([src, dst, src_port, dst_port, proto, state, idle_ms]) => ({
      src: addressText(src),
      dst: addressText(dst),
      proto,
      src_port,
      dst_port,
      state: STATES[state],
      last_seen_ms: Date.now() - idle_ms,
    }));
    return { flow_count: flows.length, max_flows: TABLE_FLOWS, flows_evicted, passed, ...counted, flows: rows };
  }

  async exportState(): Promise<{ flows: z.infer<typeof Row>[] }> {
    const entries = await this.slot.exportTable(TABLE_FLOWS);
    const flows = entries.map((entry): z.infer<typeof Row> => [...keyOf(entry), entry[4]!, entry[7]! * 1000]);
    return { flows: youngestFirst(flows) };
  }

  async importState(state: Record<string, unknown>): Promise<void> {
    const rows = youngestFirst(readRows(Row, state));
    await this.slot.importTable(rows.map((row) => [...keyWords(row), row[5], 0, 0, idleSeconds(row[6])]));
  }
}

/** Words of a key, the first four bytes first. */
function keyWrites(key: Buffer): RegisterWrite[] {
  return Array.from({ length: HASH_KEY.count }, (_, i) => [at(HASH_KEY, i), key.readUInt32LE(4 * i)]);
}

/** `newKey`: keys of the hash of the table, each for one empty table; random, so that nobody can make flows collide. */
export const firewallAdapter = (newKey = () => randomBytes(HASH_KEY_BYTES)): ModuleAdapter => ({
  nf: 'stateful-firewall',
  attribute: null,
  configure(config) {
    const { default_action, rules, idle_timeout_s, transitory_timeout_s } = readConfig(FirewallConfig, config);
    return [
      [DEFAULT_ACTION.address, word(DEFAULT_ACTION, { ALLOW: Number(default_action === 'allow') })],
      [IDLE_TIMEOUT_S.address, idle_timeout_s],
      [TRANSITORY_TIMEOUT_S.address, Math.min(transitory_timeout_s, idle_timeout_s)],
      ...TRANSITIONS.map(([NEXT, DROP], i): RegisterWrite => [at(STATE_TABLE, i), word(STATE_TABLE, { NEXT, DROP })]),
      ...Array.from({ length: RULES }, (_, i) => ruleWrites(rules[i], i)).flat(),
    ];
  },
  async begin(slot, _, fresh) {
    if (fresh) await slot.writeRegisters(keyWrites(newKey()));
    return new FirewallSession(slot);
  },
});

export const statefulFirewall = firewallAdapter();
