import { z } from 'zod';
import { Ipv4Address, Port } from '../common.js';
import { agentEvent } from './declare.js';

/** Alerts of the module that the rate limit suppressed before this one. */
const limited = { suppressed: z.int() };
const flood = { ...limited, dst: Ipv4Address, syns: z.int(), mean: z.int() };
const ends = { src: Ipv4Address, dst: Ipv4Address, src_port: Port, dst_port: Port };

/** What NFs detect in traffic. */
export const DETECTION_EVENTS = {
  'sqli.alert': agentEvent({
    title: 'SQL injection',
    about: 'instance',
    severity: 'warning',
    data: { ...limited, ...ends, patterns: z.array(z.int()), payload_bytes: z.int() },
  }),
  'ddos.flagged': agentEvent({ title: 'SYN flood', about: 'instance', severity: 'warning', data: flood }),
  'ddos.cleared': agentEvent({ title: 'SYN flood over', about: 'instance', data: flood }),
  'elephant.found': agentEvent({
    title: 'Elephant flow',
    about: 'instance',
    data: { ...limited, ...ends, proto: z.int(), window_bytes: z.number(), window_ms: z.number() },
  }),
};
