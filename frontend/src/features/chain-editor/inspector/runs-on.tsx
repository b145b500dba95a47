import { Button } from '@mantine/core';
import type { NfInstance } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { lazy, Suspense, useState } from 'react';
import { useMay } from '../../../shared/api/session.js';
import { InstanceTrouble } from '../../../shared/chain/instance-trouble.js';
import { SHOWN_WORDS, shownState } from '../../../shared/chain/nf-state.js';
import { useDescriptor, useEditorContext } from '../../../shared/chain-draft/context.js';
import { formsOf, measuresLatency, runsOnText } from '../../../shared/format/form.js';
import { EmulatedMark } from '../../../shared/ui/emulated-mark.js';
import { LiveRate } from '../../../shared/ui/rate-text.js';
import { Reason } from '../../../shared/ui/reason.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import { ElementManager } from './element-manager.js';
import classes from './inspector.module.css';
import { Section } from './section.js';

const RunOnDialog = lazy(() => import('./run-on-dialog.js'));

/** What runs an NF of the deployed chain, and its state; an operator can move it. */
export function RunsOn({ instances }: { readonly instances: readonly NfInstance[] }) {
  const [changing, setChanging] = useState(false);
  const mayOperate = useMay('operator');
  const descriptor = useDescriptor(instances[0]?.nf);
  const choice = descriptor && formsOf(descriptor.implementations).length > 1;
  return (
    <Section
      title={instances.length === 1 ? 'Runs on' : `Runs on, in ${instances.length} instances`}
      actions={
        choice && (
          <Reason of={mayOperate ? null : 'Needs the role operator'}>
            <Button
              variant="default"
              size="compact-xs"
              aria-label="Change what the NF runs on"
              disabled={!mayOperate}
              onClick={() => setChanging(true)}
            >
              Change…
            </Button>
          </Reason>
        )
      }
    >
      {instances.map((instance) => (
        <Instance key={instance.id} instance={instance} />
      ))}
      <Suspense fallback={null}>
        {changing && descriptor && (
          <RunOnDialog instances={instances} descriptor={descriptor} onClose={() => setChanging(false)} />
        )}
      </Suspense>
    </Section>
  );
}

const FIGURES = [
  ['Rate', 'pps', 'pps'],
  ['Drops', 'drops_pps', 'pps'],
  ['CPU', 'cpu', 'share'],
  ['Latency p99', 'latency_p99_us', 'us'],
  ['Queue', 'queue', 'count'],
] as const;

function Instance({ instance }: { readonly instance: NfInstance }) {
  const { chain } = useEditorContext();
  const state = shownState(instance.state, chain.deployment_state);
  const hasMode = useDescriptor(instance.nf)?.acceleration !== undefined;
  const isSwitchable = hasMode && instance.state === 'running' && ['engine', 'container'].includes(instance.driver);
  const figures = FIGURES.filter(([, metric]) =>
    instance.driver === 'switch'
      ? metric === 'pps' || metric === 'drops_pps'
      : metric !== 'latency_p99_us' || measuresLatency(instance.driver),
  );
  return (
    <div className={classes.instance}>
      <div>
        <StatusBadge state={state} label={SHOWN_WORDS[state]} />
        <span className="muted tabular">{runsOnText(instance)}</span>
        <EmulatedMark origin={instance.origin} />
      </div>
      <InstanceTrouble instance={instance} />
      <dl className={classes.figures}>
        {figures.map(([name, metric, quantity]) => (
          <div key={metric}>
            <dt>{name}</dt>
            <dd>
              <LiveRate sampleKey={sampleKey('instance', instance.id, metric)} quantity={quantity} />
            </dd>
          </div>
        ))}
      </dl>
      {isSwitchable && <ElementManager instance={instance} />}
    </div>
  );
}
