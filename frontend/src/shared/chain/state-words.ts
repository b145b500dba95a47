import type { Chain } from '@orrery/contract';

export const STATE_WORDS: Record<Chain['deployment_state'], string> = {
  none: 'not deployed',
  deploying: 'deploying',
  running: 'running',
  degraded: 'degraded',
  undeploying: 'being taken down',
  failed: 'failed',
};
