import { Scenario } from '@orrery/contract';
import { expect, it } from 'vitest';
import { SCENARIOS } from './registry.js';

interface Parameter {
  readonly type?: string;
  readonly title?: string;
  readonly unit?: string;
  readonly enum?: readonly string[];
  readonly titles?: Readonly<Record<string, string>>;
  readonly default?: unknown;
}

const parameters = SCENARIOS.flatMap(({ scenario }) =>
  Object.entries(scenario.parameters.properties as Record<string, Parameter>).map(
    ([key, parameter]) => [`${scenario.id}, ${key}`, key, parameter] as const,
  ),
);

it('declares scenarios that fit the schema of what is told of them', () => {
  const misfits = SCENARIOS.flatMap(({ scenario }) => Scenario.safeParse(scenario).error?.issues ?? []);
  expect(misfits).toEqual([]);
});

it('gives every parameter of every scenario a title in plain words, and a default', () => {
  for (const [name, , { title, default: usual }] of parameters) {
    expect(title, name).toMatch(/^[A-Z][^_]+$/);
    expect(usual, name).toBeDefined();
  }
});

/** What a name that ends so is measured in. */
const MEASURED = /_(s|ms|bps|mbps|gbps|pps|per_core)$|^seconds$/;

it('gives measured parameters a unit, and each value of an enumeration a title', () => {
  for (const [name, key, { unit, enum: values = [], titles = {} }] of parameters) {
    if (MEASURED.test(key)) expect(unit, name).toBeTruthy();
    for (const value of values) expect(titles[value], `${name}: ${value}`).toMatch(/^[A-Z]/);
  }
});
