import { type OutputUnit, Validator } from '@cfworker/json-schema';
import {
  type ChainDefinition,
  type ChainProblem,
  EXTERNAL_PREFIX,
  type NfDescriptor,
  unitOfName,
  unitText,
} from '@orrery/contract';
import type { DescriptorIndex } from './attributes.js';
import { effectiveConfig } from './implementation.js';
import { addressToNumber, isAddress, parsePrefix } from './ipv4.js';

const MAX_FINDINGS_A_NODE = 8;
/** Keywords that bound numbers. */
const BOUNDS: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
]);

/** Checks the configuration of every NF against its descriptor's schema, and rules beyond the schema. */
export function checkConfig(definition: ChainDefinition, descriptors: DescriptorIndex): ChainProblem[] {
  const problems: ChainProblem[] = [];
  const owners = new Map<string, string>();
  definition.nodes.forEach((node, i) => {
    if (node.kind !== 'nf') return;
    const descriptor = descriptors.get(node.nf);
    if (!descriptor) return;
    const config = effectiveConfig(descriptor, node.config);
    const findings = [...schemaFindings(descriptor, config), ...addressFindings(descriptor, node, owners)];
    for (const { pointer, message } of findings.slice(0, MAX_FINDINGS_A_NODE)) {
      const at = `/nodes/${i}/config${pointer}`;
      problems.push({ code: 'bad-config', severity: 'error', message, pointer: at, node: node.id });
    }
  });
  return problems;
}

/** What is wrong with a configuration by the schema of its NF. */
export interface Finding {
  readonly pointer: string;
  readonly message: string;
  /** It is the schema that is wrong. Absent: the configuration. */
  readonly isOfSchema?: true;
}

export function schemaFindings(
  descriptor: Pick<NfDescriptor, 'id' | 'config_schema'>,
  config: Record<string, unknown>,
): Finding[] {
  try {
    // A copy: the validator writes into the schema.
    const validator = new Validator(JSON.parse(JSON.stringify(descriptor.config_schema)), '2020-12', false);
    const { valid, errors } = validator.validate(config);
    return valid
      ? []
      : causes(errors).map((cause) => ({
          pointer: cause.instanceLocation.slice(1),
          message: inWords(cause, descriptor.config_schema),
        }));
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause);
    return [{ pointer: '', message: `the schema of "${descriptor.id}" cannot be used: ${detail}`, isOfSchema: true }];
  }
}

/** As the validator says it, bounds of numbers with their unit. */
function inWords({ keyword, keywordLocation, instanceLocation, error }: OutputUnit, schema: unknown): string {
  if (!BOUNDS.has(keyword)) return error;
  const name = instanceLocation.split('/').findLast((step) => !/^\d*$/.test(step)) ?? '';
  const unit = unitStated(schema, keywordLocation) || unitOfName(name);
  return unit ? error.replace(/\.$/, ` ${unit}.`) : error;
}

/** The keyword `unit` beside another one; empty: there is none, or it is behind a reference. */
function unitStated(schema: unknown, keywordLocation: string): string {
  const steps = keywordLocation.split('/').slice(1, -1);
  const beside = steps.reduce<unknown>((part, step) => memberOf(part, nameIn(step)), schema);
  const unit = memberOf(beside, 'unit');
  return typeof unit === 'string' ? unitText(unit) : '';
}

function memberOf(of: unknown, name: string): unknown {
  return typeof of === 'object' && of !== null ? (of as Record<string, unknown>)[name] : undefined;
}

/** Of a step of a JSON Pointer in a URI (RFC 6901 6). */
function nameIn(step: string): string {
  return decodeURI(step).replaceAll('~1', '/').replaceAll('~0', '~');
}

/**
 * The validator repeats each finding at every level above it, and calls a field that is wrong an unknown one, too; only the innermost
 * says what is wrong.
 */
function causes(errors: readonly OutputUnit[]): OutputUnit[] {
  const unknown = errors.filter(({ keyword }) => keyword === 'false');
  const known = errors.filter(
    ({ keyword, instanceLocation }) =>
      keyword !== 'false' &&
      !(keyword === 'additionalProperties' && unknown.some((it) => isWithin(it.instanceLocation, instanceLocation))),
  );
  const innermost = known.filter(
    (outer) =>
      !known.some(
        (inner) =>
          inner !== outer &&
          inner.keywordLocation.startsWith(`${outer.keywordLocation}/`) &&
          inner.instanceLocation.startsWith(outer.instanceLocation),
      ),
  );
  const isKnown = (it: OutputUnit) =>
    known.some(({ instanceLocation: at }) => at === it.instanceLocation || isWithin(at, it.instanceLocation));
  return [
    ...innermost,
    ...unknown.filter((it) => !isKnown(it)).map((it) => ({ ...it, error: 'There is no such field.' })),
  ];
}

function isWithin(location: string, outer: string): boolean {
  return location.startsWith(`${outer}/`);
}

/** External addresses must be ones that the fabric returns, and belong to one NF only (RFC 3022 2.2). */
function addressFindings(
  descriptor: NfDescriptor,
  { id, config }: { id: string; config: Readonly<Record<string, unknown>> },
  owners: Map<string, string>,
): Finding[] {
  const findings: Finding[] = [];
  const addresses = config.external_addresses;
  if (!descriptor.return_traffic || !Array.isArray(addresses)) return findings;
  const prefix = parsePrefix(EXTERNAL_PREFIX)!;
  addresses.forEach((address: unknown, i) => {
    const pointer = `/external_addresses/${i}`;
    if (typeof address !== 'string' || !isAddress(address)) {
      findings.push({ pointer, message: 'an external address must be an IPv4 address' });
      return;
    }
    const value = addressToNumber(address);
    if (value < prefix.first || value > prefix.last) {
      findings.push({
        pointer,
        message: `the fabric returns packets to ${EXTERNAL_PREFIX} only; ${address} is outside`,
      });
    }
    const owner = owners.get(address);
    if (owner !== undefined) findings.push({ pointer, message: `${address} already belongs to "${owner}"` });
    else owners.set(address, id);
  });
  return findings;
}
