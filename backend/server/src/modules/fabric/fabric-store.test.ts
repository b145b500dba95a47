import { expect, it } from 'vitest';
import { ConfigError } from '../../platform/config.js';
import type { Store } from '../../platform/redis.js';
import { FabricStore, NO_FABRIC } from './fabric-store.js';

const holding = (text: string | null) => new FabricStore({ redis: { get: async () => text } } as unknown as Store);

it('is empty before the first deployment', async () => {
  expect(await holding(null).read()).toEqual(NO_FABRIC);
});

it.each(['{', '{"rules": {"generation": 3}}'])('refuses to read %s as no rules', async (text) => {
  const error = await holding(text)
    .read()
    .catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(ConfigError);
  expect((error as Error).message).toMatch(/^The switch rules .* cannot be read: .* move it away to start fresh/s);
});
