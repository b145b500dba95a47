import { ActionIcon, Tooltip } from '@mantine/core';
import type { ComponentType } from 'react';

interface ToolProps {
  readonly label: string;
  readonly icon: ComponentType<{ size: number; stroke: number; 'aria-hidden': boolean }>;
  readonly onClick: () => void;
  readonly disabled?: boolean;
  readonly pressed?: boolean;
}

/** A button of the toolbar; the label ends with its shortcut in parentheses. */
export function Tool({ label, icon: Icon, onClick, disabled, pressed }: ToolProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon
        aria-label={label.replace(/ \(.*\)$/, '')}
        aria-pressed={pressed}
        size={28}
        disabled={disabled}
        variant={pressed ? 'light' : 'subtle'}
        onClick={onClick}
      >
        <Icon size={16} stroke={1.6} aria-hidden />
      </ActionIcon>
    </Tooltip>
  );
}
