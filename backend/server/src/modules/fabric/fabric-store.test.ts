import { expect, it } from 'vitest';
import { ConfigError } from '../../platform/config.js';
import { Pace } from '../../platform/pace.js';
import type { Store } from '../../platform/redis.js';
import { FabricStore, NO_FABRIC, type StoredFabric } from './fabric-store.js';

const holding = (text: string | null) => new FabricStore({ redis: { get: async () => text } } as unknown as Store);

it('is empty before the first deployment', async () => {
  expect(await holding(null).read()).toEqual(NO_FABRIC);
});

it('reads what it wrote, switch by switch', async () => {
  let text = '';
  const transaction = {
    set: (_key: string, value: string) => {
      text = value;
    },
  };
  const transact = async (fill: (of: typeof transaction) => void) => fill(transaction);
  const spec = (generation: number) => ({ generation, ports: [], entries: [], groups: [] });
  const fabrics: StoredFabric[] = [
    NO_FABRIC,
    { rules: { generation: 3, rules: [] }, switches: { 'leaf-1': spec(7), 'leaf-2': spec(9) }, last_generation: 9 },
  ];
  for (const fabric of fabrics) {
    await new FabricStore({ transact } as unknown as Store).write(fabric, new Pace());
    expect(await holding(text).read()).toEqual(fabric);
  }
});

it.each(['{', '{"rules": {"generation": 3}}'])('refuses to read %s as no rules', async (text) => {
  const error = await holding(text)
    .read()
    .catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(ConfigError);
  expect((error as Error).message).toMatch(/^The switch rules .* cannot be read: .* move it away to start fresh/s);
});
