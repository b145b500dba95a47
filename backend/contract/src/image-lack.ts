import type { ContainerImage } from './container-image.js';

/** Most images that an agent tells of. */
export const MAX_IMAGES = 200;

/** Of an image that comes with Orrery. */
const TO_BUILD = ': `npm run build:images` builds it (docs/container-images.md)';

/** What an agent says of its containers (`AgentCapabilities`). */
interface ContainerOffer {
  readonly containers?: { readonly available: boolean; readonly detail: string; readonly images?: readonly string[] };
  readonly legacy_nfs?: { readonly enabled: boolean };
}

/**
 * Why the containers of a server cannot run an image; null: nothing is known that speaks against it. `isOfUser`: a user
 * named it; the others came with Orrery.
 */
export function imageLack(
  { containers, legacy_nfs }: ContainerOffer,
  { reference, pull }: Pick<ContainerImage, 'reference' | 'pull'>,
  isOfUser: boolean,
): string | null {
  if (!containers?.available) return containers?.detail ?? 'its agent offers no containers';
  if (!containers.images) return 'its agent is too old to run images';
  if (isOfUser && !legacy_nfs?.enabled) return 'its operator does not allow images of users (--legacy-nfs off)';
  if (pull === 'never' && hasImage(containers.images, reference) === false)
    return `its Docker does not have ${reference}, and the pull policy is "never"${isOfUser ? '' : TO_BUILD}`;
  return null;
}

/** Whether a Docker with these images has the one that is meant; null: it has more than it told. */
export function hasImage(images: readonly string[], reference: string): boolean | null {
  const wanted = plainName(reference);
  if (images.some((image) => plainName(image) === wanted)) return true;
  return images.length < MAX_IMAGES ? false : null;
}

/** As Docker lists it: with the digest, if there is one, in place of the tag, and without the names of its own registry. */
function plainName(reference: string): string {
  const [name, digest] = reference.split('@');
  const plain = name!.replace(/^docker\.io\//, '').replace(/^library\//, '');
  return digest ? `${plain.replace(/:[^/:]*$/, '')}@${digest}` : plain;
}
