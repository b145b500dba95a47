import { Button, Modal } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { useFocusReturn } from './focus-return.js';
import classes from './form-dialog.module.css';

interface FormDialogProps {
  readonly title: string;
  readonly size: number;
  readonly children: ReactNode;
  /** Error of the whole form; shown next to the buttons, which are always visible. */
  readonly trouble?: ReactNode;
  /** Label of the button that only closes the dialog; null: there is none. */
  readonly dismiss?: string | null;
  /** The action button, right of it. */
  readonly action: ReactNode;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
}

/** A dialog with a form: the content scrolls, the buttons stay visible. The focus returns to what opened it. */
export function FormDialog({
  title,
  size,
  children,
  trouble,
  dismiss = 'Cancel',
  action,
  onSubmit,
  onClose,
}: FormDialogProps) {
  useFocusReturn();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <Modal opened onClose={onClose} size={size} centered title={title} classNames={{ content: classes.content }}>
      <form className={classes.form} onSubmit={submit} noValidate>
        {children}
        <div className={classes.foot}>
          {trouble}
          {dismiss !== null && (
            <Button variant="default" onClick={onClose}>
              {dismiss}
            </Button>
          )}
          {action}
        </div>
      </form>
    </Modal>
  );
}
