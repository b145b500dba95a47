import type { Plan } from '@orrery/contract';
import { isCarriedOut, requireFeasible } from './carried-out.js';
import type { Stage } from './scenario.js';

/** Resolves when the chain runs. */
export async function deployChain(stage: Stage, chainId: string): Promise<void> {
  const { id } = await stage.api.call('createDeployment', { body: { chain_id: chainId } });
  await carriedOut(stage, id);
}

/** How a chain is to run, with options of planning. */
type HowToRun = Partial<
  Pick<Plan['request'], 'strategy' | 'parallelization' | 'scheduling' | 'scheduling_mode' | 'seed'> &
    Pick<Plan['request']['chains'][number], 'execution' | 'schedule' | 'offload'>
>;

/** Plans the chain that way and deploys the plan; resolves with it when the chain runs by it. */
export async function deployAs(stage: Stage, chainId: string, how: HowToRun): Promise<Plan> {
  const { execution, schedule, offload, ...options } = how;
  const asked = {
    ...(execution ? { execution } : {}),
    ...(schedule ? { schedule } : {}),
    ...(offload ? { offload } : {}),
  };
  const chain = { chain_id: chainId, ...asked };
  const plan = await stage.api.call('createPlan', { body: { chains: [chain], ...options } });
  requireFeasible(plan);
  const { id } = await stage.api.call('createDeployment', { body: { plan_id: plan.id } });
  await carriedOut(stage, id);
  return plan;
}

/** Resolves when the chain does not run any more, so that another one can have its traffic. */
export async function takeDown(stage: Stage, chainId: string): Promise<void> {
  const { id } = await stage.api.call('deleteDeployment', { params: { chain_id: chainId } });
  await carriedOut(stage, id);
}

async function carriedOut({ api, until }: Stage, id: string): Promise<void> {
  await until('the end of the deployment', 30, async () => ((await isCarriedOut(api, id)) ? true : null));
}
