import { z } from 'zod';
import { IpAddress, Name, Port } from '../common.js';

/** Where a program sends: a node of the infrastructure (at its address of the chosen family) or an address. */
export const Destination = z
  .union([Name, IpAddress])
  .describe('a node of the infrastructure, or an IPv4 or IPv6 address');
export type Destination = z.infer<typeof Destination>;

/** Configuration fields that kinds share; `title`, `unit` and `reference` (what an id refers to) are for forms. */
export const to = Destination.meta({ title: 'To', reference: 'destination' });
export const family = z
  .union([z.literal('ipv4').meta({ title: 'IPv4' }), z.literal('ipv6').meta({ title: 'IPv6' })])
  .default('ipv4')
  .describe('which address of the node is used; ignored when `to` is an address')
  .meta({ title: 'Address family' });
export const port = (usual: number) => Port.min(1).default(usual).meta({ title: 'Port' });
export const durationS = z
  .number()
  .min(0)
  .max(86_400)
  .default(0)
  .describe('0: until stopped')
  .meta({ title: 'Duration', unit: 's' });
