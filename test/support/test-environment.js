// Jest environment of Node with a plain global object. Jest's own makes each look-up of a global
// (Map, Promise, Error, ...) a call of a Proxy, which costs a third of the time of busy code.
import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import vm from 'node:vm'
import { TestEnvironment } from 'jest-environment-node'
import { startWorkerService } from './worker-service.ts'

const require = createRequire(import.meta.url)
const { createContext } = vm

/** Reads openapi.yaml at the first call. */
const findUndocumented = (...response) =>
  require('./find-undocumented.ts').findUndocumented(...response)

export default class PlainGlobals extends TestEnvironment {
  constructor(...options) {
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY)
    try {
      super(...options)
    } finally {
      vm.createContext = createContext
    }
    this.temporaryFolders = []
    const { temporaryFolders } = this
    this.global.jestWorker = {
      findUndocumented,
      startWorkerService,
      temporaryFolders,
      get express() {
        return require('express')
      },
    }
  }

  /** Runs after all hooks of the file: until then a server of it may use its folder. */
  async teardown() {
    await super.teardown()
    const removed = this.temporaryFolders.map((path) => rm(path, { recursive: true, force: true }))
    await Promise.all(removed)
  }
}
