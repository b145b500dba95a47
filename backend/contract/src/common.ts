import { z } from 'zod';

/** Names that operators choose: lower-case words joined by dashes, safe in URLs, interface names and Redis keys. */
export const Name = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,39}$/, 'must start with a letter and hold only a-z, 0-9 and "-" (at most 40 characters)');
export type Name = z.infer<typeof Name>;

/** Identity given by the server. */
export const Id = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,119}$/, 'must be an identifier of at most 120 characters');
export type Id = z.infer<typeof Id>;

export const RateBps = z.number().min(0).max(1e13).describe('bits a second');
export const Generation = z
  .int()
  .min(0)
  .describe('counts changes of desired state; an observer reports the one it reached');
export const TimestampMs = z.number().min(0).describe('milliseconds since the Unix epoch');

export const Ipv4Prefix = z
  .string()
  .regex(
    /^(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}(\/(3[0-2]|[12]?\d))?$/,
    'must be an IPv4 address or prefix such as 10.0.0.0/8',
  );
export const Ipv4Address = z
  .string()
  .regex(/^(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}$/, 'must be an IPv4 address');
export const MacAddress = z.string().regex(/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/, 'must be a lower-case MAC address');
export const Port = z.int().min(0).max(65535);

/** One cause of a refusal, with a JSON Pointer (RFC 6901) to the field that is at fault. */
export const FieldError = z.strictObject({
  pointer: z.string(),
  detail: z.string(),
  code: z.string().optional(),
});
export type FieldError = z.infer<typeof FieldError>;

/** RFC 9457 problem details; `errors` names each bad field. */
export const Problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string().optional(),
  instance: z.string().optional(),
  request_id: z.string().optional(),
  errors: z.array(FieldError).optional(),
});
export type Problem = z.infer<typeof Problem>;

/** Where a figure or a node comes from: real equipment, or the twin that emulates it. */
export const Origin = z.enum(['twin', 'live']);
export type Origin = z.infer<typeof Origin>;
