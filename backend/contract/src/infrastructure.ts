import { z } from 'zod';
import { Bytes, DelayUs, IpAddress, MacAddress, Name, Origin, RateBps, SlotResources } from './common.js';

/** An address of a host or server. The fabric delivers it to one interface of the node. */
export const NodeAddress = z.strictObject({
  address: IpAddress,
  port: Name.optional().describe('the interface with this address; default: that of the first link of the node'),
});
export type NodeAddress = z.infer<typeof NodeAddress>;

export const Nic = z.strictObject({ name: Name, bandwidth_bps: RateBps });
export const ServerNode = z.strictObject({
  id: Name,
  title: z.string().max(60).optional(),
  origin: Origin,
  cores: z.int().min(1).max(512),
  ghz: z.number().min(0.01).max(10),
  memory_bytes: Bytes,
  nics: z.array(Nic).min(1).max(16).describe('the data plane uses the first one'),
  addresses: z.array(NodeAddress).max(16).default([]).describe('on NICs other than the first'),
});
export type ServerNode = z.infer<typeof ServerNode>;

export const SwitchAction = z.enum(['forward', 'rewrite', 'mirror', 'group', 'meter', 'tunnel']);
export type SwitchAction = z.infer<typeof SwitchAction>;

export const SwitchNode = z.strictObject({
  id: Name,
  title: z.string().max(60).optional(),
  origin: Origin,
  driver: z.enum(['ovs', 'p4', 'bmv2']),
  program: Name.optional().describe(
    "a P4 program of one's own, for the drivers p4 and bmv2: the switch carries no chain; absent: that of the fabric",
  ),
  ports: z.int().min(2).max(1024),
  table_entries: z.int().min(16).max(1_000_000),
  actions: z.array(SwitchAction),
});
export type SwitchNode = z.infer<typeof SwitchNode>;

/**
 * An FPGA board; each slot runs one NF. One at a switch has a link for each of its ports, which are called near0, far0,
 * near1 and so on by the number of the slot.
 */
export const BoardNode = z.strictObject({
  id: Name,
  title: z.string().max(60).optional(),
  origin: Origin,
  server: Name.describe('the server whose agent drives it'),
  attached: z
    .enum(['server', 'switch'])
    .default('server')
    .describe('`server`: the engine of its server passes packets to it; `switch`: its ports hang on a switch'),
  profile: Name.default('de5').describe('sizes, bandwidths and clock; the twin builds the board from it'),
  device: z.string().max(60),
  slots: z.int().min(1).max(16),
  clock_mhz: z.number().min(1).max(2000).default(200),
  resources: SlotResources.describe('of each slot: lut, ff, bram-kib'),
  bandwidth_bps: RateBps,
  latency_us: DelayUs,
  load_s: z
    .strictObject({ full: z.number().min(0).max(86_400), partial: z.number().min(0).max(86_400) })
    .default({ full: 12, partial: 2.5 })
    .describe('time to load a bitstream (CoNFV VI)'),
  cost: z.number().min(1e-6).max(1e9).default(1).describe('power and purchase as one figure, relative to other boards'),
});
export type BoardNode = z.infer<typeof BoardNode>;

/** An end point of traffic with one or more links. `role` only affects how it is drawn; its programs are applications. */
export const HostNode = z.strictObject({
  id: Name,
  title: z.string().max(60).optional(),
  origin: Origin,
  role: z.enum(['client', 'server']),
  addresses: z.array(NodeAddress).min(1).max(16).describe('the first IPv4 one is the primary address'),
  mac: MacAddress.describe('of the interface of the first link'),
});
export type HostNode = z.infer<typeof HostNode>;

/** The address at which a host is reached and shown: its first IPv4 address, otherwise its first address. */
export function primaryAddress({ addresses }: Pick<HostNode, 'addresses'>): string {
  return (addresses.find(({ address }) => !address.includes(':')) ?? addresses[0]!).address;
}

export const LinkEnd = z.strictObject({ node: Name, port: Name });
export type LinkEnd = z.infer<typeof LinkEnd>;

/** Each figure applies to each direction separately. Frames are never reordered. */
export const Link = z.strictObject({
  id: Name,
  a: LinkEnd,
  b: LinkEnd,
  bandwidth_bps: RateBps.min(1000),
  delay_us: z.number().min(0).max(10_000_000).default(0).describe('one way'),
  jitter_us: z
    .number()
    .min(0)
    .max(10_000_000)
    .default(0)
    .describe('the delay of a frame is uniform in delay_us +- jitter_us; must not exceed delay_us'),
  loss: z.number().min(0).max(1).default(0).describe('probability that a frame is lost'),
  queue_bytes: z
    .int()
    .min(2000)
    .max(1_000_000_000)
    .optional()
    .describe('capacity of the queue; default: 25 ms at the bandwidth, at least 200 kB'),
});
export type Link = z.infer<typeof Link>;

/** NFVI: everything that chains can be placed on, and the hosts whose traffic they process. */
export const Infrastructure = z.strictObject({
  name: Name,
  servers: z.array(ServerNode).max(256),
  boards: z.array(BoardNode).max(64).default([]),
  switches: z.array(SwitchNode).max(64),
  hosts: z.array(HostNode).max(1024),
  links: z.array(Link).max(4096),
});
export type Infrastructure = z.infer<typeof Infrastructure>;

/** Every host sends to this MAC address; the fabric routes by destination, without ARP beyond the first hop. */
export const FABRIC_GATEWAY_MAC = '02:0e:ff:ff:ff:fe';
/** Prefix from which address-rewriting NFs take external addresses (RFC 2544 benchmark range); the fabric routes it back. */
export const EXTERNAL_PREFIX = '198.18.0.0/15';
