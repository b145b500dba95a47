import {
  IconActivity,
  IconArrowsExchange,
  IconArrowsLeftRight,
  IconArrowsShuffle,
  IconArrowsSplit,
  IconBolt,
  IconBox,
  IconChartBar,
  IconChartLine,
  IconDatabase,
  IconDatabaseSearch,
  IconEraser,
  IconEye,
  IconFilter,
  IconGauge,
  IconLock,
  IconReplace,
  IconRouter,
  IconScale,
  IconShield,
  IconShieldBolt,
  IconShieldCheck,
  IconShieldLock,
  IconShieldSearch,
  IconSwitchHorizontal,
  IconTransfer,
  IconTransform,
  IconWall,
  IconWeight,
  IconWorldX,
} from '@tabler/icons-react';
import type { ComponentType } from 'react';

type Icon = ComponentType<{ size?: number | string; stroke?: number; className?: string }>;

/** Icons that descriptors may use; others are drawn as a box. Imported individually, to bundle only these. */
const ICONS: Record<string, Icon> = {
  activity: IconActivity,
  'arrows-exchange': IconArrowsExchange,
  'arrows-left-right': IconArrowsLeftRight,
  'arrows-shuffle': IconArrowsShuffle,
  'arrows-split': IconArrowsSplit,
  bolt: IconBolt,
  box: IconBox,
  'chart-bar': IconChartBar,
  'chart-line': IconChartLine,
  eraser: IconEraser,
  eye: IconEye,
  filter: IconFilter,
  gauge: IconGauge,
  lock: IconLock,
  replace: IconReplace,
  router: IconRouter,
  scale: IconScale,
  shield: IconShield,
  'shield-check': IconShieldCheck,
  'shield-search': IconShieldSearch,
  'shield-bolt': IconShieldBolt,
  'shield-lock': IconShieldLock,
  database: IconDatabase,
  'database-search': IconDatabaseSearch,
  weight: IconWeight,
  'switch-horizontal': IconSwitchHorizontal,
  transform: IconTransform,
  transfer: IconTransfer,
  wall: IconWall,
  'world-x': IconWorldX,
};

/** Icon of a network function by its descriptor's `icon`. */
export function NfIcon({ icon, size = 16 }: { readonly icon: string | undefined; readonly size?: number }) {
  const name = icon
    ?.replace(/^Icon/, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase();
  const Chosen = (name && ICONS[name]) || IconBox;
  return <Chosen size={size} stroke={1.6} />;
}
