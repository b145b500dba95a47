import type { SloStatus } from '@orrery/contract';
import { errorText, predictionError } from './objective.js';

export function ErrorText({ slo }: { readonly slo: SloStatus }) {
  const error = predictionError(slo);
  return (
    <span className={error === null ? 'muted' : undefined} title="Measured against predicted">
      {error === null ? '–' : errorText(error)}
    </span>
  );
}
