import { Modal } from '@mantine/core';
import { useCommandList } from '../shared/ui/commands.js';
import { useFocusReturn } from '../shared/ui/focus-return.js';
import { Keys } from '../shared/ui/keys.js';
import classes from './shortcut-help.module.css';

/** Every shortcut that works on this page. */
export default function ShortcutHelp({ onClose }: { readonly onClose: () => void }) {
  useFocusReturn();
  const commands = useCommandList().filter(({ keys }) => keys);
  const groups = [...new Set(commands.map(({ group }) => group))];
  return (
    <Modal opened onClose={onClose} title="Shortcuts" size="lg">
      <div className={classes.groups}>
        {groups.map((group) => (
          <section key={group}>
            <h2>{group}</h2>
            <dl>
              {commands
                .filter((command) => command.group === group)
                .map(({ id, title, keys }) => (
                  <div key={id} className={classes.row}>
                    <dt>{title}</dt>
                    <dd>
                      <Keys keys={keys!} />
                    </dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
    </Modal>
  );
}
