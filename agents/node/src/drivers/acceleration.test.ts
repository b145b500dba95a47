import { CpuFeature } from '@orrery/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { elementOf, lackOf, switchedConfig } from './acceleration.js';

const MODE = { kind: 'instructions', setting: 's', accelerated: 'yes', plain: 'no' } as const;
const features = fc.subarray([...CpuFeature.options]);

it('an NF can be switched where the processor has all that it needs, and nowhere else', () => {
  fc.assert(
    fc.property(features, features, (needed, there) => {
      const acceleration = { ...MODE, cpu_features: needed };
      const lack = lackOf(acceleration, there);
      expect(new Set([...lack, ...there])).toEqual(new Set([...needed, ...there]));
      const { kinds } = elementOf({ acceleration, config: {} }, null, there)!;
      expect(kinds).toEqual(needed.every((it) => there.includes(it)) ? ['instructions'] : []);
    }),
  );
});

it('the configuration of a switched NF differs in one setting, and tells what the NF does', () => {
  const config = fc.dictionary(fc.constantFrom('s', 'key', 'mtu'), fc.constantFrom('yes', 'no', 'other'));
  fc.assert(
    fc.property(config, fc.boolean(), (base, accelerated) => {
      const acceleration = { ...MODE, cpu_features: [] };
      const switched = { accelerated, at_ms: 5 };
      const now = switchedConfig(base, acceleration, switched);
      expect({ ...now, s: null }).toEqual({ ...base, s: null });
      expect(elementOf({ acceleration, config: now }, null, [])!.accelerated).toBe(accelerated);
      const told = elementOf({ acceleration, config: base, cpu_limit: 0.3 }, switched, []);
      expect(told).toEqual({ accelerated, kinds: ['instructions'], cpu_limit: 0.3, switched_ms: 5 });
    }),
  );
});

it('nothing is told of an NF that cannot be switched', () => {
  expect(elementOf({ config: { s: 'yes' } }, null, ['aes'])).toBeNull();
});
