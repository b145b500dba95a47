import { Button } from '@mantine/core';
import { sampleKey } from '@orrery/contract/sample-keys';
import { IconSend } from '@tabler/icons-react';
import { useNavigate } from 'react-router';
import { useMay } from '../../../shared/api/session.js';
import { sampleTraffic, trafficPath } from '../../../shared/chain/sample-traffic.js';
import { useDerived, useEditorContext } from '../../../shared/chain-draft/context.js';
import { useSample } from '../../../shared/stream/hooks.js';

/** On a running chain without traffic: opens the twin lab with an application that sends some. */
export function SendTraffic() {
  const { chain, infrastructure } = useEditorContext();
  const deployed = useDerived((derived) => derived.deployed);
  const rate = useSample(sampleKey('chain', chain.id, 'pps'))?.value ?? 0;
  const mayOperate = useMay('operator');
  const navigate = useNavigate();
  if (chain.deployment_state !== 'running' || rate > 0 || !deployed || !infrastructure) return null;
  const traffic = sampleTraffic(deployed, infrastructure);
  const why = !mayOperate
    ? 'Sending traffic needs the role operator.'
    : traffic === null
      ? 'No host of this network sends or receives traffic of this class.'
      : null;
  return (
    <Button
      variant="default"
      leftSection={<IconSend size={14} aria-hidden />}
      disabled={why !== null}
      title={why ?? 'Nothing is sent through this chain'}
      onClick={() => traffic && void navigate(trafficPath(traffic))}
    >
      Send traffic
    </Button>
  );
}
