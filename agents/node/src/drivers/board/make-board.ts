import type { BoardConfig } from './board-config.js';
import type { BoardPort } from './board-port.js';
import { FpgaManagerBoard } from './fpga-manager/fpga-manager-board.js';
import { PcieBoard } from './pcie/pcie-board.js';
import { SimulatedBoard } from './simulated/simulated-board.js';

/** Creates the back end of a board. */
export function makeBoard(config: BoardConfig): BoardPort {
  switch (config.backend) {
    case 'simulated':
      return new SimulatedBoard(config);
    case 'fpga-manager':
      return new FpgaManagerBoard(config);
    case 'pcie':
      return new PcieBoard(config);
  }
}
