import type { FabricRule, RouteInput, SwitchSamples, SwitchSpec } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { InfrastructureStore } from '../../ports/infrastructure-store.js';
import type { SwitchFleet } from '../../ports/switch-fleet.js';
import type { Telemetry } from '../../ports/telemetry.js';
import type { FabricControl } from './fabric-control.js';
import { ruleStates } from './switch-state.js';
import { SwitchesController } from './switches.controller.js';

const spec = { generation: 2, entries: [{ rule_id: 'r1' }, { rule_id: null }] } as unknown as SwitchSpec;
const rules = [{ id: 'r1', chain_id: 'c1', kind: 'classify' }] as unknown as FabricRule[];
const samples = (generation: number) =>
  ({ generation, entries: [], rules: [{ rule_id: 'r1', packets: 3, bytes: 300 }] }) as unknown as SwitchSamples;

it('shows counters of rules only for the generation for which they were read', () => {
  const rule = { rule_id: 'r1', chain_id: 'c1', kind: 'classify', entries: 1 };
  expect(ruleStates(spec, rules, samples(2))).toEqual([{ ...rule, packets: 3, bytes: 300 }]);
  expect(ruleStates(spec, rules, samples(1))).toEqual([{ ...rule, packets: null, bytes: null }]);
  expect(ruleStates(spec, rules, null)).toEqual([{ ...rule, packets: null, bytes: null }]);
});

it('tells of a switch that is lost, and of no other that it is', () => {
  const none = () => null;
  const control = { specOf: none, lackOf: none };
  const fleet = { isConnected: () => false, switchDescription: none, observedSwitch: none };
  const infrastructure = { current: { infrastructure: { switches: [{ id: 's1' }, { id: 's2' }] } } };
  const controller = new SwitchesController(
    control as unknown as FabricControl,
    fleet as unknown as SwitchFleet,
    { switchCounters: none } as unknown as Telemetry,
    infrastructure as unknown as InfrastructureStore,
    { lostSwitches: new Set(['s2']) },
  );
  const told = (id: string) => controller.get({ params: { id } } as RouteInput<'getSwitch'>);
  expect(told('s1')).not.toHaveProperty('lost');
  expect(told('s2')).toMatchObject({ id: 's2', connected: false, lost: true });
});
