import type { ElementState, NfInstance } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../../../shared/api/client.js';
import { useMay } from '../../../shared/api/session.js';
import { quantityText } from '../../../shared/format/quantity.js';
import { ConfirmButton } from '../../../shared/ui/confirm-button.js';
import { FormTrouble } from '../../../shared/ui/form-trouble.js';
import { LastKnown } from '../../../shared/ui/last-known.js';
import { LiveRate } from '../../../shared/ui/rate-text.js';
import { Reason } from '../../../shared/ui/reason.js';
import { RelativeTime } from '../../../shared/ui/relative-time.js';
import classes from './inspector.module.css';

/** Its agent may start it anew without an event of its own. */
const AGAIN_MS = 5000;

const KIND_WORDS = { instructions: 'the CPU’s instructions' } as const;

/** Whether an instance uses an accelerator, what it takes of its limit, and the switch between both modes. */
export function ElementManager({ instance: { id } }: { readonly instance: NfInstance }) {
  const client = useQueryClient();
  const queryKey = ['nf-instances', 'element', id];
  const { data, error, isPending } = useQuery({
    queryKey,
    refetchInterval: AGAIN_MS,
    queryFn: ({ signal }) => call('getNfInstanceElement', { params: { id } }, { signal }),
  });
  const change = useMutation({
    mutationFn: (accelerate: boolean) =>
      call(accelerate ? 'accelerateNfInstance' : 'releaseNfInstance', { params: { id } }),
    onSuccess: (state) => client.setQueryData(queryKey, state),
    onError: () => client.invalidateQueries({ queryKey }),
  });
  return (
    <section aria-label={`Mode of ${id}`}>
      <dl className={classes.figures}>
        <div>
          <dt>Mode</dt>
          <dd>
            {isPending ? 'reading…' : data ? <LastKnown isOld={error !== null}>{modeText(data)}</LastKnown> : 'unknown'}
          </dd>
        </div>
        {data && (
          <div>
            <dt>CPU of its limit</dt>
            <dd>
              <LiveRate sampleKey={sampleKey('instance', id, 'cpu')} quantity="share" inText /> of{' '}
              {quantityText('share', data.cpu_limit ?? 1)}
            </dd>
          </div>
        )}
        {data?.switched_ms != null && (
          <div>
            <dt>Switched</dt>
            <dd>
              <RelativeTime t_ms={data.switched_ms} />
            </dd>
          </div>
        )}
      </dl>
      {data && <Switch state={data} busy={change.isPending} onSwitch={change.mutate} />}
      <FormTrouble error={change.error ?? error} shown={[]} />
    </section>
  );
}

function Switch(props: {
  readonly state: ElementState;
  readonly busy: boolean;
  readonly onSwitch: (accelerate: boolean) => void;
}) {
  const { state, busy, onSwitch } = props;
  const mayOperate = useMay('operator');
  const { accelerated, kinds } = state;
  const lack = !accelerated && kinds.length === 0 ? 'Its server has no accelerator for it' : null;
  const reason = mayOperate ? lack : 'Needs the role operator';
  return (
    <Reason of={reason}>
      <ConfirmButton
        size="compact-xs"
        disabled={reason !== null}
        loading={busy}
        confirmLabel={accelerated ? 'Release' : 'Accelerate'}
        message={
          accelerated
            ? 'From its next packet on it works in software: the same traffic takes more CPU. Its sessions stay up. A restart goes back to what the chain says.'
            : `From its next packet on it uses ${kinds.map((kind) => KIND_WORDS[kind]).join(', ')}. Its sessions stay up. A restart goes back to what the chain says.`
        }
        onConfirm={() => onSwitch(!accelerated)}
      >
        {accelerated ? 'Release accelerator…' : 'Accelerate…'}
      </ConfirmButton>
    </Reason>
  );
}

function modeText({ accelerated }: ElementState): string {
  return accelerated ? 'accelerated' : 'software';
}
