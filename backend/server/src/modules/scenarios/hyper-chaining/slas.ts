import { ServicePoolDefinition, type ServiceRequestSpec } from '@orrery/contract';
import { seededRandom } from '@orrery/planner';

export const POOL = 'scenario-hyper';
/** In the order in which requests pass them; the first two may also run on boards. */
export const HARDWARE = ['stateful-firewall', 'elephant-detector'] as const;
export const SOFTWARE = 'ids';
export const NFS = [...HARDWARE, 'monitor', SOFTWARE] as const;
/** Published: 20 instances (HYPER VII-E), 16 table entries (HYPER VII-B). */
const INSTANCES = 5;
const TABLE_ENTRIES = 16;
export const RATE_BPS = 10e6;
/** What no board runs has room for all. */
const ROOMY = 20;

const RULES = Array.from({ length: TABLE_ENTRIES }, (_, n) => ({ action: 'deny', src: `198.51.100.${n}` }));

export function poolOf(from: string): ServicePoolDefinition {
  return ServicePoolDefinition.parse({
    name: POOL,
    title: 'Scenario: service requests',
    hosts: [from],
    nfs: NFS.map((nf) => ({
      nf,
      count: INSTANCES,
      rate_bps: nf === SOFTWARE ? ROOMY * RATE_BPS : RATE_BPS,
      config: nf === 'stateful-firewall' ? { rules: RULES } : {},
    })),
    packet_bytes: 800,
  });
}

/** Random SLAs: some of the functions, a bound of the latency about what ways take, and a rate. */
export function randomSlas(from: string, count: number, seed: number, latency_us: number): ServiceRequestSpec[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, (_, n) => {
    const some = NFS.filter(() => random() < 0.6);
    return {
      pool: POOL,
      from: [from],
      match: [
        { attribute: 'ip.dst', op: 'is' as const, value: '198.51.100.1' },
        { attribute: 'port.dst', op: 'is' as const, value: 1 + n },
      ],
      functions: some.length > 0 ? some : [NFS[Math.floor(random() * NFS.length)]!],
      latency_us: latency_us * (0.3 + 1.7 * random()),
      throughput_bps: Math.round(1000 + random() * 20_000),
    };
  });
}

/** One for each instance of the functions that boards run, of which each takes more than half. */
export function fillers(from: string): ServiceRequestSpec[] {
  return Array.from({ length: INSTANCES }, (_, n) => ({
    pool: POOL,
    from: [from],
    match: [
      { attribute: 'ip.dst', op: 'is' as const, value: '198.51.100.2' },
      { attribute: 'port.dst', op: 'is' as const, value: 1 + n },
    ],
    functions: [...HARDWARE],
    latency_us: 1e6,
    throughput_bps: 0.6 * RATE_BPS,
  }));
}

/** Forms of the chain of the probes: of functions that boards run, and with one that runs in software alone. */
export const FORMS = {
  'with-software': [...HARDWARE, SOFTWARE],
  'of-hardware': [...HARDWARE],
} as const;
export type Form = keyof typeof FORMS;

/** The packets of the probes. */
export function probed(
  from: string,
  address: string,
  port: number,
  throughput_bps: number,
  form: Form,
): ServiceRequestSpec {
  return {
    pool: POOL,
    from: [from],
    match: [
      { attribute: 'ip.dst', op: 'is', value: address },
      { attribute: 'port.dst', op: 'is', value: port },
    ],
    functions: [...FORMS[form]],
    latency_us: 1e6,
    throughput_bps,
  };
}
