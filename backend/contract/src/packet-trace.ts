import { z } from 'zod';
import { Name } from './common.js';

const Text = z.string().max(400);
const Values = z.array(z.strictObject({ name: Text, value: z.string().max(2000) })).max(256);
const Names = z.array(Text).max(1024);
const Count = z.int().min(0);
const Port = z.string().max(60).describe('name of the port; its number, where it has no name');
const step = <Kind extends string, Shape extends z.ZodRawShape>(kind: Kind, shape: Shape) =>
  z.strictObject({ step: z.literal(kind), ...shape });

/** What a P4 switch did with a packet, in order. Names are those of the program. */
export const TraceStep = z.discriminatedUnion('step', [
  step('begin', {
    kind: Text.describe('normal, resubmit, recirculate, ingress_clone, egress_clone or replication'),
    port: Port.describe('where it came in; behind ingress where it goes out'),
    rid: Count,
    bytes: Count,
  }),
  step('parser_state', { parser: Text, state: Text, extracted: Names, next: Text }),
  step('parser_failed', { state: Text, error: Text }),
  step('checksum_verified', { name: Text, right: z.boolean() }),
  step('checksum_updated', { name: Text, value: Text }),
  step('pipeline', { name: Text }),
  step('table_lookup', { table: Text, key: Values, hit: z.boolean(), entry: Count.describe('handle, on a hit') }),
  step('action_run', { action: Text, args: Values }),
  step('condition', { name: Text, source: z.string().max(4000), taken: z.boolean() }),
  step('counted', { counter: Text, index: Count }),
  step('metered', { meter: Text, index: Count, colour: Count }),
  step('register', { name: Text, index: Count, write: z.boolean(), value: z.string().max(2000) }),
  step('logged', { text: z.string().max(4000) }),
  step('copied', { kind: Text, id: Count, copies: Count }),
  step('dropped', { reason: Text }),
  step('deparsed', { headers: Names, header_bytes: Count, payload_bytes: Count }),
  step('sent', { port: Port, bytes: Count }),
]);
export type TraceStep = z.infer<typeof TraceStep>;

export const PacketTrace = z.strictObject({
  sequence: z.int().min(1).describe('of the traces of the switch since its start'),
  t_ns: z.number().min(0).describe('clock of the switch'),
  port: Port.describe('where the packet came in'),
  bytes: Count,
  steps: z.array(TraceStep).max(4096),
  left_out: Count.describe('steps beyond the bound'),
});
export type PacketTrace = z.infer<typeof PacketTrace>;

export const MOST_ARMED_TRACES = 100;

export const TraceRequest = z.strictObject({
  count: z.int().min(0).max(MOST_ARMED_TRACES).describe('the next packets that leave a trace; 0: no further one'),
  port: Name.optional().describe('only packets that come in there'),
});
export type TraceRequest = z.infer<typeof TraceRequest>;

export const PacketTraces = z.strictObject({
  traces: z.array(PacketTrace).max(64).describe('oldest first'),
  armed: Count.describe('packets that are still to leave a trace'),
  lost: Count.describe('traces that were forgotten because nobody read them in time'),
});
export type PacketTraces = z.infer<typeof PacketTraces>;
