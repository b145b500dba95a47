import { IconLogin2, IconLogout2 } from '@tabler/icons-react';
import { NfIcon } from '../../../shared/ui/nf-icon.js';

/** Icon of a palette row: an NF's own, or that of an end of the chain. */
export function PartIcon({ icon, size = 16 }: { readonly icon: string; readonly size?: number }) {
  if (icon === 'ingress') return <IconLogin2 size={size} stroke={1.6} />;
  if (icon === 'egress') return <IconLogout2 size={size} stroke={1.6} />;
  return <NfIcon icon={icon} size={size} />;
}
