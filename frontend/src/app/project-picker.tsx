import { Menu, UnstyledButton } from '@mantine/core';
import { IconCheck, IconSelector } from '@tabler/icons-react';
import classes from './shell.module.css';

export function ProjectPicker() {
  return (
    <Menu position="bottom-start" width={240} withinPortal={false}>
      <Menu.Target>
        <UnstyledButton className={classes.project} aria-label="Project: default">
          <span className="muted">Project</span> default
          <IconSelector size={14} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconCheck size={14} />}>default</Menu.Item>
        <Menu.Divider />
        <Menu.Label>This installation has one project.</Menu.Label>
      </Menu.Dropdown>
    </Menu>
  );
}
