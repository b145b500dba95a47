import type { DeploymentOptions } from '@orrery/contract';
import { DEPLOYMENT, DEPLOYMENT_NAMES } from '../../shared/plan/deployment-choices.js';

/** Options in the URL; absent: as the chain runs now. */
export function deploymentOf(search: URLSearchParams): DeploymentOptions {
  return Object.fromEntries(
    DEPLOYMENT_NAMES.flatMap((name) => {
      const value = search.get(name);
      return DEPLOYMENT[name].choices.some((choice) => choice.value === value) ? [[name, value]] : [];
    }),
  );
}

/** The address with other deployment options. */
export function withDeployment(search: URLSearchParams, options: DeploymentOptions): URLSearchParams {
  const after = new URLSearchParams(search);
  for (const name of DEPLOYMENT_NAMES) {
    const value = options[name];
    if (value) after.set(name, value);
    else after.delete(name);
  }
  return after;
}
