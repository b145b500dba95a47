import { freePort } from '../../scripts/bench/measure.mjs';
import { bringUpRack } from '../../scripts/demo-chains.mjs';
import { Stack } from '../../scripts/stack.mjs';

/**
 * Starts the real product with the rack and no chains; passes address and secret to the tests in the environment. Where they are
 * there already, that server has the rack and no chains, and is left as it is.
 */
export default async function startStack() {
  if (process.env.E2E_URL && process.env.E2E_SECRET) return;
  const stack = new Stack({ port: await freePort(), purpose: 'e2e', twin: true });
  const stop = async () => {
    await stack.stop();
    const leftovers = await stack.leftovers();
    if (leftovers.length > 0) throw new Error(`left behind after stop: ${leftovers.join(', ')}`);
  };
  try {
    await stack.start();
    await bringUpRack(stack);
  } catch (error) {
    await stack.stop();
    throw error;
  }
  process.env.E2E_URL = stack.url;
  process.env.E2E_SECRET = stack.secret;
  return stop;
}
