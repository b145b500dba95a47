import { z } from 'zod';
import { Ipv4Address, MacAddress, Name, Origin, RateBps } from './common.js';

export const Nic = z.strictObject({ name: Name, bandwidth_bps: RateBps });
export const ServerNode = z.strictObject({
  id: Name,
  title: z.string().max(60).optional(),
  origin: Origin,
  cores: z.int().min(1).max(512),
  ghz: z.number().positive().max(10),
  memory_bytes: z.int().min(0),
  nics: z.array(Nic).min(1).max(16),
});
export type ServerNode = z.infer<typeof ServerNode>;

export const SwitchAction = z.enum(['forward', 'rewrite', 'mirror', 'group', 'meter', 'tunnel']);
export type SwitchAction = z.infer<typeof SwitchAction>;

export const SwitchNode = z.strictObject({
  id: Name,
  title: z.string().max(60).optional(),
  origin: Origin,
  driver: z.enum(['ovs', 'p4', 'bmv2']),
  ports: z.int().min(2).max(1024),
  table_entries: z.int().min(16).max(1_000_000),
  actions: z.array(SwitchAction),
});
export type SwitchNode = z.infer<typeof SwitchNode>;

/** An FPGA board in a server, whose slots are loaded with one NF each. */
export const BoardNode = z.strictObject({
  id: Name,
  title: z.string().max(60).optional(),
  origin: Origin,
  server: Name.describe('the server whose agent drives it'),
  profile: Name.default('de5').describe('of sizes, bandwidths and clock; the twin builds the board after it'),
  device: z.string().max(60),
  slots: z.int().min(1).max(16),
  clock_mhz: z.number().positive().max(2000).default(200),
  resources: z.record(Name, z.number().min(0)).describe('what each slot has: lut, ff, bram-kib'),
  bandwidth_bps: RateBps,
  latency_us: z.number().min(0),
  load_s: z
    .strictObject({ full: z.number().min(0), partial: z.number().min(0) })
    .default({ full: 12, partial: 2.5 })
    .describe('what loading a bitstream takes (CoNFV VI)'),
  cost: z.number().positive().default(1).describe('power and purchase in one figure, beside other boards'),
});
export type BoardNode = z.infer<typeof BoardNode>;

/** A host is an end point of traffic. `role` says what the twin runs on it. */
export const HostNode = z.strictObject({
  id: Name,
  title: z.string().max(60).optional(),
  origin: Origin,
  role: z.enum(['client', 'server']),
  address: Ipv4Address,
  mac: MacAddress,
});
export type HostNode = z.infer<typeof HostNode>;

export const LinkEnd = z.strictObject({ node: Name, port: Name });
export const Link = z.strictObject({
  id: Name,
  a: LinkEnd,
  b: LinkEnd,
  bandwidth_bps: RateBps.min(1000),
  delay_us: z.number().min(0).max(10_000_000).default(0),
});
export type Link = z.infer<typeof Link>;

/** NFVI: everything that pipelines can be placed on, and the hosts whose traffic they treat. */
export const Infrastructure = z.strictObject({
  name: Name,
  servers: z.array(ServerNode).max(256),
  boards: z.array(BoardNode).max(64).default([]),
  switches: z.array(SwitchNode).max(64),
  hosts: z.array(HostNode).max(1024),
  links: z.array(Link).max(4096),
});
export type Infrastructure = z.infer<typeof Infrastructure>;

/** Every host sends to this address of the fabric, which routes by destination: no ARP beyond the first hop. */
export const FABRIC_GATEWAY_MAC = '02:0e:ff:ff:ff:fe';
/** Prefix from which address-rewriting NFs take external addresses (RFC 2544 benchmark range); the fabric returns it. */
export const EXTERNAL_PREFIX = '198.18.0.0/15';
