import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type LegacyProgram, NfDescriptor } from '@orrery/contract';
import { expect, it } from 'vitest';
import { isNewer, legacyNfErrors } from './check.js';

const FOLDER = '../../../../../agents/node/process-nfs';
const shipped = (nf: string): NfDescriptor =>
  NfDescriptor.parse(
    JSON.parse(readFileSync(fileURLToPath(new URL(`${FOLDER}/${nf}/descriptor.json`, import.meta.url)), 'utf8')),
  );

type Draft = { -readonly [K in keyof NfDescriptor]: NfDescriptor[K] };
const errorsOf = (change: (nf: Draft, program: NonNullable<NfDescriptor['implementations'][0]['program']>) => void) => {
  const nf = structuredClone(shipped('nftables-firewall'));
  change(nf, nf.implementations[0]!.program!);
  return legacyNfErrors(nf).map(({ pointer, code }) => [pointer, code]);
};
const PROGRAM = '/implementations/0/program';

it('accepts the legacy NFs that come with Orrery', () => {
  for (const nf of ['nftables-firewall', 'tcpdump-tap']) expect([nf, legacyNfErrors(shipped(nf))]).toEqual([nf, []]);
  // It is of the agent's own: only those know {{nf_dir}}.
  expect(new Set(legacyNfErrors(shipped('http-proxy')).map(({ code }) => code))).toEqual(
    new Set(['unknown-placeholder']),
  );
});

it('names each field that is wrong', () => {
  const { program: _program, ...plain } = shipped('nftables-firewall').implementations[0]!;
  const container = { ...plain, kind: 'container' as const, driver: 'container' as const };
  expect(errorsOf((nf) => nf.implementations.push(container))).toEqual([]);
  expect(errorsOf((nf) => nf.implementations.push(container, container))).toEqual([
    ['/implementations/2', 'bad-implementation'],
  ]);
  expect(errorsOf((nf) => nf.implementations.push(nf.implementations[0]!))).toEqual([
    ['/implementations/1/driver', 'bad-implementation'],
  ]);
  expect(errorsOf((nf, program) => nf.implementations.push({ ...container, program }))).toEqual([
    ['/implementations/1/program', 'bad-implementation'],
  ]);
  const ofUser = (program: LegacyProgram) => (program.setup[0]![0] = '/opt/nf');
  expect(errorsOf((_, program) => ofUser(program))).toEqual([]);
  expect(
    errorsOf((nf, program) => {
      nf.implementations.push(container);
      ofUser(program);
    }),
  ).toEqual([[`${PROGRAM}/setup/0/0`, 'bad-command']]);
  expect(errorsOf((nf) => (nf.implementations[0]!.driver = 'engine'))).toEqual([
    ['/implementations/0/driver', 'bad-implementation'],
  ]);
  const acceleration = {
    kind: 'instructions',
    setting: 'rules',
    accelerated: 'a',
    plain: 'b',
    cpu_features: [],
  } as const;
  expect(errorsOf((nf) => (nf.acceleration = { ...acceleration, cpu_features: [] }))).toEqual([
    ['/acceleration', 'not-possible'],
  ]);
  expect(errorsOf((nf) => delete nf.implementations[0]!.program)).toEqual([[PROGRAM, 'required']]);
  expect(errorsOf((_, program) => (program.setup = []))).toEqual([[`${PROGRAM}/command`, 'required']]);
  expect(errorsOf((_, program) => (program.setup[0]![0] = '{{rules}}'))).toEqual([
    [`${PROGRAM}/setup/0/0`, 'bad-command'],
  ]);
  expect(errorsOf((_, program) => (program.setup[0]![2] = '{{dri}}'))).toEqual([
    [`${PROGRAM}/setup/0/2`, 'unknown-placeholder'],
  ]);
  expect(errorsOf((_, program) => (program.files[0]!.content = '{{x}}'))).toEqual([
    [`${PROGRAM}/files/0/content`, 'unknown-placeholder'],
  ]);
  expect(errorsOf((_, program) => (program.files[0]!.name = 'record.json'))).toEqual([
    [`${PROGRAM}/files/0/name`, 'duplicate-id'],
  ]);
  expect(errorsOf((_, program) => (program.forwarding = 'route'))).toEqual([
    [`${PROGRAM}/preserves`, 'not-preserved'],
    ['/unsupported', 'not-supported'],
  ]);
  expect(errorsOf((_, program) => Object.assign(program, { forwarding: 'tap', command: ['tcpdump'] }))).toEqual([
    ['/actions/may_drop', 'not-possible'],
  ]);
  expect(errorsOf((_, program) => (program.report = ['true']))).toEqual([[`${PROGRAM}/report`, 'not-possible']]);
  expect(errorsOf((_, program) => Object.assign(program, { command: ['a'], report: ['b', '{{x}}'] }))).toEqual([
    [`${PROGRAM}/report/1`, 'unknown-placeholder'],
  ]);
  expect(errorsOf((nf) => (nf.actions.answers = true))).toEqual([['/actions/answers', 'not-possible']]);
  expect(errorsOf((nf) => (nf.return_traffic = true))).toEqual([['/return_traffic', 'not-possible']]);
  expect(errorsOf((nf) => (nf.default_config = { policy: 'maybe', rules: [] }))).toContainEqual([
    '/default_config/policy',
    'bad-config',
  ]);
  const scaledBy = (field: string) => errorsOf((nf) => (nf.implementations[0]!.cost.scales_with = { field, of: 1 }));
  for (const field of ['policy', 'none'])
    expect(scaledBy(field)).toEqual([['/implementations/0/cost/scales_with/field', 'unknown-field']]);
  expect(errorsOf((nf) => nf.attributes.push({ name: 'a', title: 'A', values: [{ value: 'v', title: 'V' }] }))).toEqual(
    [['/attributes', 'not-possible']],
  );
});

it('names the field of the schema where that is wrong, not the default configuration', () => {
  const schemaWith = (rule: object) =>
    errorsOf((nf) => {
      const { policy: _policy, ...others } = nf.config_schema.properties as Record<string, object>;
      nf.config_schema = { ...nf.config_schema, properties: { ...others, policy: rule } };
    });
  const AT = '/config_schema/properties/policy';
  expect(schemaWith({ type: 'strnig' })).toEqual([[`${AT}/type`, 'bad-schema']]);
  expect(schemaWith({ type: 'integer', enum: ['accept', 'drop'] })).toEqual([[`${AT}/enum`, 'bad-schema']]);
  expect(schemaWith({ $ref: '#/$defs/none' })).toEqual([['/config_schema', 'bad-schema']]);
});

it('compares versions by number', () => {
  expect([isNewer('1.10.0', '1.9.9'), isNewer('1.9.0', '1.10.0'), isNewer('1.0.0', '1.0.0')]).toEqual([
    true,
    false,
    false,
  ]);
});
