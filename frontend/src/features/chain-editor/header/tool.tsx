import { ActionIcon, Tooltip } from '@mantine/core';
import type { ComponentType } from 'react';

interface ToolProps {
  readonly label: string;
  readonly icon: ComponentType<{ size: number; stroke: number; 'aria-hidden': boolean }>;
  readonly onClick: () => void;
  readonly disabled?: boolean;
  readonly pressed?: boolean;
  /** Of a part of the page that the button shows and hides. */
  readonly expanded?: boolean;
}

/** A button of the toolbar; the label ends with its shortcut in parentheses. */
export function Tool({ label, icon: Icon, onClick, disabled, pressed, expanded }: ToolProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon
        aria-label={label.replace(/ \(.*\)$/, '')}
        aria-pressed={pressed}
        aria-expanded={expanded}
        size={28}
        disabled={disabled}
        variant={pressed || expanded ? 'light' : 'subtle'}
        onClick={onClick}
      >
        <Icon size={16} stroke={1.6} aria-hidden />
      </ActionIcon>
    </Tooltip>
  );
}
