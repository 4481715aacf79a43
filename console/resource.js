// Reads a resource for a page, and reads it again while the page is open.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { read } from './api.js'
import { useRefresh } from './live.js'

/**
 * @typedef {object} Resource
 * @property {any} value undefined until the first answer. A failed refresh keeps the last one.
 * @property {Error | undefined} problem of the last request.
 * @property {() => void} reload
 */

/**
 * @param {string | undefined} path undefined for nothing.
 * @param {{ everyMs?: number, live?: boolean }} [options] `live`: also on events of the service.
 * @returns {Resource}
 */
export function useResource(path, { everyMs = 0, live = false } = {}) {
  const [seen, setSeen] = useState(
    /** @type {{ path?: string, value?: any, problem?: Error }} */ ({}),
  )
  const asking = useRef(/** @type {AbortController | undefined} */ (undefined))

  const ask = useCallback(
    async (/** @type {boolean} */ background) => {
      if (path === undefined || (background && asking.current !== undefined)) return
      asking.current?.abort()
      const own = new AbortController()
      asking.current = own
      try {
        const value = await read(path, { background, signal: own.signal })
        if (!own.signal.aborted) setSeen({ path, value })
      } catch (error) {
        const problem = /** @type {Error} */ (error)
        if (own.signal.aborted) return
        setSeen((before) => (before.path === path ? { ...before, problem } : { path, problem }))
      } finally {
        if (asking.current === own) asking.current = undefined
      }
    },
    [path],
  )
  useEffect(() => {
    void ask(false)
    return () => {
      asking.current?.abort()
      asking.current = undefined
    }
  }, [ask])
  useRefresh(
    useCallback(() => void ask(true), [ask]),
    everyMs,
    live,
  )
  const { value, problem } = seen.path === path ? seen : {}
  return { value, problem, reload: useCallback(() => void ask(false), [ask]) }
}
