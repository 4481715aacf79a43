// Jest environment of Node with a plain global object. Jest's own makes each look-up of a global
// (Map, Promise, Error, ...) a call of a Proxy, which costs a third of the time of busy code.
import vm from 'node:vm'
import { TestEnvironment } from 'jest-environment-node'
import { startWorkerService } from './worker-service.ts'

const { createContext } = vm

export default class PlainGlobals extends TestEnvironment {
  constructor(...options) {
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY)
    try {
      super(...options)
    } finally {
      vm.createContext = createContext
    }
    // For test/support/shared-service.ts. A test file's own modules end with the file.
    this.global.startWorkerService = startWorkerService
  }
}
