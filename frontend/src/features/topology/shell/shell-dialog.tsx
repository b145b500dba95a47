import { Button, Checkbox, Modal } from '@mantine/core';
import { SHELL_IDLE_MS } from '@orrery/contract/shell-limits';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { API } from '../../../shared/api/client.js';
import { useSession } from '../../../shared/api/session.js';
import { useFocusReturn } from '../../../shared/ui/focus-return.js';
import { useRemembered } from '../../../shared/ui/remembered.js';
import { ShellConnection, type ShellSocket } from './shell-connection.js';
import classes from './shell-dialog.module.css';
import { TerminalScreen } from './terminal-screen.js';

interface ShellDialogProps {
  readonly id: string;
  readonly onClose: () => void;
}

function openSocket(): ShellSocket {
  const url = new URL(`${API}/shell`, window.location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return new WebSocket(url) as unknown as ShellSocket;
}

/** A terminal with a shell in the container of an instance. It ends with the dialog. */
export default function ShellDialog({ id, onClose }: ShellDialogProps) {
  useFocusReturn();
  const token = useSession()?.token ?? '';
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  const [state, setState] = useState('opens…');
  const [isOver, setOver] = useState(false);
  const [untaken, setUntaken] = useState(0);
  const [isForReaders, toggleForReaders] = useRemembered('shell-for-readers', false);
  const initial = useRef(isForReaders);
  const screen = useRef<TerminalScreen | null>(null);
  const leave = useRef<HTMLButtonElement>(null);

  useEffect(() => {
    if (!element) return;
    let connection: ShellConnection | null = null;
    const shown = new TerminalScreen(element, `Shell in ${id}`, initial.current, {
      typed: (text) => connection?.type(text),
      resized: (size) => connection?.resize(size),
      leave: () => leave.current?.focus(),
    });
    screen.current = shown;
    connection = new ShellConnection(openSocket(), { token, instance_id: id }, shown.size, {
      opened: () => {
        setState(`open; Shift+Esc leaves the terminal; it ends after ${SHELL_IDLE_MS / 60_000} minutes without a key`);
        shown.focus();
      },
      output: (bytes, then) => shown.write(bytes, then),
      untaken: (chars) => setUntaken((before) => before + chars),
      ended: (why) => {
        shown.end();
        setState(`ended: ${why}`);
        setOver(true);
      },
    });
    return () => {
      connection?.close();
      screen.current = null;
      shown.dispose();
    };
  }, [element, id, token]);

  useEffect(() => {
    if (screen.current) screen.current.forReaders = isForReaders;
  }, [isForReaders]);

  /** Esc would close the panel behind, and with it a shell that runs. */
  const keepInside = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && !isOver) event.stopPropagation();
  };

  return (
    <Modal
      opened
      onClose={onClose}
      closeOnEscape={isOver}
      onKeyDown={keepInside}
      closeOnClickOutside={false}
      size="80%"
      centered
      title={`Shell in ${id}`}
    >
      <div className={classes.screen}>
        <div ref={setElement} className={classes.terminal} />
      </div>
      <div className={classes.foot}>
        <span className={classes.state} role="status">
          {state}
          {untaken > 0 && `; ${untaken} characters were typed while the program read nothing, and are lost`}
        </span>
        <Checkbox label="For screen readers" checked={isForReaders} onChange={toggleForReaders} />
        <Button ref={leave} variant="default" onClick={onClose}>
          {isOver ? 'Close' : 'End shell'}
        </Button>
      </div>
    </Modal>
  );
}
