import { withFrontSplits } from '../../igraph/front-splits.js';
import { unableSwitches } from '../../lower/switch/split-ability.js';
import type { AssignedDraft, FormedDraft } from '../draft.js';
import { formedChains } from '../graphs.js';

/**
 * Chains as drawn, or with parallel steps if they run in parallel (HydraNF 6); with a split in front of the first NFs where
 * switches or slots at them cannot share out their flows (E2 3.4.4).
 */
export function formChains(draft: AssignedDraft): FormedDraft {
  const { input, clockOf, pgraph, assignment, recall } = draft;
  const { descriptors, infrastructure, switches = new Map() } = input;
  const unable = unableSwitches(infrastructure, switches);
  const forms = formedChains(input, clockOf, pgraph, assignment.implementations, recall);
  return {
    ...draft,
    chainForms: forms.map((form) => withFrontSplits(form, descriptors, assignment.implementations, unable)),
  };
}
