import type { AgentCapabilities } from './agent-protocol.js';
import { type ContainerImage, hasImage } from './container-image.js';

/**
 * Why the containers of a server cannot run an image; null: nothing is known that speaks against it. `isOfUser`: a user
 * named it; the others came with Orrery.
 */
export function imageLack(
  { containers, legacy_nfs }: Pick<AgentCapabilities, 'containers' | 'legacy_nfs'>,
  { reference, pull }: Pick<ContainerImage, 'reference' | 'pull'>,
  isOfUser: boolean,
): string | null {
  if (!containers?.available) return containers?.detail ?? 'its agent offers no containers';
  if (!containers.images) return 'its agent is too old to run images';
  if (isOfUser && !legacy_nfs?.enabled) return 'its operator does not allow images of users (--legacy-nfs off)';
  if (pull === 'never' && hasImage(containers.images, reference) === false)
    return `its Docker does not have ${reference}, and the pull policy is "never"`;
  return null;
}
