import { z } from 'zod';

/** Names that operators choose: lower-case words joined by dashes, safe in URLs, interface names and Redis keys. */
export const Name = z
  .string()
  .regex(
    /^[a-z][a-z0-9-]{0,39}$/,
    'must start with a letter and contain only a-z, 0-9 and "-" (at most 40 characters)',
  );
export type Name = z.infer<typeof Name>;

/** Where packets of a chain are processed: a server, or a slot of a board at a switch (`slotPlace`). */
export const Place = z
  .string()
  .regex(
    /^[a-z][a-z0-9-]{0,39}(\.\d{1,2})?$/,
    'must be the name of a server, or of a board with the number of its slot, such as board-1.0',
  );
export type Place = z.infer<typeof Place>;

/** Identifier assigned by the server. */
export const Id = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,119}$/, 'must be an identifier of at most 120 characters');
export type Id = z.infer<typeof Id>;

/** Largest part of an id in a Redis Stream. */
const STREAM_ID_MOST = 2n ** 64n - 1n;
export const StreamId = z
  .string()
  .regex(/^\d{1,20}-\d{1,20}$/, 'must be the id of an event, e.g. 1700000000000-0')
  .refine((id) => id.split('-').every((part) => BigInt(part) <= STREAM_ID_MOST), {
    error: 'each part must be below 2^64',
    when: ({ issues }) => issues.length === 0,
  })
  .describe('id in the Redis Stream of events: defines the order and is the resume point');

/** Largest rate that anything has or is planned for. */
export const MOST_RATE_BPS = 1e13;
export const RateBps = z.number().min(0).max(MOST_RATE_BPS).describe('bits per second');
/** Sizes of memory: up to 1 PiB. */
export const Bytes = z
  .int()
  .min(0)
  .max(2 ** 50);
/** Delays and latencies that a plan can be asked to reckon with: up to 1000 s. */
export const DelayUs = z.number().min(0).max(1e9);
/** What a slot of a board has, or an NF takes, of each of its resources. */
export const SlotResources = z.record(Name, z.number().min(0).max(1e9));
export const Generation = z
  .int()
  .min(0)
  .describe('counts changes of the desired state; observers report the generation that they have reached');
export const TimestampMs = z.number().min(0).describe('milliseconds since the Unix epoch');

export const Ipv4Prefix = z
  .string()
  .regex(
    /^(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}(\/(3[0-2]|[12]?\d))?$/,
    'must be an IPv4 address or prefix such as 10.0.0.0/8',
  );
const IPV4 = '(25[0-5]|2[0-4]\\d|1?\\d?\\d)(\\.(25[0-5]|2[0-4]\\d|1?\\d?\\d)){3}';
export const Ipv4Address = z.string().regex(new RegExp(`^${IPV4}$`), 'must be an IPv4 address');
/** RFC 4291 2.2, forms 1 and 2 in lower case: 1 to 7 groups on either side of one "::". */
const IPV6 = [
  '([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}',
  '([0-9a-f]{1,4}:){1,7}:',
  ...[1, 2, 3, 4, 5, 6].map((after) => `([0-9a-f]{1,4}:){1,${7 - after}}(:[0-9a-f]{1,4}){1,${after}}`),
  ':((:[0-9a-f]{1,4}){1,7}|:)',
].join('|');
export const IpAddress = z
  .string()
  .regex(new RegExp(`^(${IPV4}|${IPV6})$`), 'must be an IPv4 address or a lower-case IPv6 address');
const PREFIX = new RegExp(`^(${IPV4}(/(3[0-2]|[12]?\\d))?|(${IPV6})(/(12[0-8]|1[01]\\d|[1-9]?\\d))?)$`);
const PREFIX_WORDS = 'must be an IPv4 or lower-case IPv6 address or prefix such as 10.0.0.0/8 or 2001:db8::/32';
export const IpPrefix = z.string().regex(PREFIX, PREFIX_WORDS);
/** The same in a list of terms, where a pointer does not tell of which field it is. */
export const ipPrefixOf = (field: string) => z.string().regex(PREFIX, `${field} ${PREFIX_WORDS}`);
export const MacAddress = z.string().regex(/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/, 'must be a lower-case MAC address');
export const Port = z.int().min(0).max(65535);

/** One reason for a rejected request, with a JSON Pointer (RFC 6901) to the invalid field. */
export const FieldError = z.strictObject({
  pointer: z.string().describe('empty: the whole body, or the header'),
  header: z.string().optional().describe('the invalid request header'),
  detail: z.string(),
  code: z.string().optional(),
});
export type FieldError = z.infer<typeof FieldError>;

/** RFC 9457 problem details; `errors` lists each invalid field, and status 422 always has it. */
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

/** Where a figure or node comes from: real equipment (`live`) or the twin. */
export const Origin = z.enum(['twin', 'live']);
export type Origin = z.infer<typeof Origin>;
