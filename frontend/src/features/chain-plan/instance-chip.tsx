import type { Instance } from '@orrery/contract';
import { IconBox, IconTerminal2 } from '@tabler/icons-react';
import { useEditorContext } from '../../shared/chain-draft/context.js';
import { type Driver, driverText } from '../../shared/format/form.js';
import { NfIcon } from '../../shared/ui/nf-icon.js';
import { loadText } from './instance-text.js';
import classes from './placement.module.css';

export interface ChipProps {
  /** Its instances are set off from those of the other chains. */
  readonly chainId: string;
  readonly selected: string;
  readonly onSelect: (id: string) => void;
  readonly onPoint: (id: string | null) => void;
}

export function InstanceChip({ instance, chainId, selected, onSelect, onPoint }: ChipProps & { instance: Instance }) {
  const { descriptors } = useEditorContext();
  const own = instance.chain_id === chainId;
  const copy = instance.ordinal > 0 ? ` ${instance.ordinal + 1}` : '';
  return (
    <button
      type="button"
      className={classes.chip}
      data-other={!own || undefined}
      aria-pressed={selected === instance.id}
      aria-description={loadText(instance)}
      onClick={() => onSelect(instance.id)}
      onPointerEnter={() => onPoint(instance.id)}
      onPointerLeave={() => onPoint(null)}
      onFocus={() => onPoint(instance.id)}
      onBlur={() => onPoint(null)}
    >
      <NfIcon icon={descriptors.find((each) => each.id === instance.nf)?.icon} size={13} />
      <span>{own ? instance.node_id + copy : instance.id}</span>
      <FormMark driver={instance.driver} />
    </button>
  );
}

/** What runs an instance, where it is not what runs most of them or is seen from where it stands. */
function FormMark({ driver }: { readonly driver: Driver }) {
  if (driver !== 'container' && driver !== 'process') return null;
  const Icon = driver === 'container' ? IconBox : IconTerminal2;
  return <Icon size={13} className={classes.form} role="img" aria-label={`in ${driverText(driver)}`} />;
}
