// Sends requests to the service. Every change goes through `change`, which sends the CSRF token, and
// a session that has ended is noticed here, for every request.
import { endSession, csrfToken } from './session.js'

/** A refusal of the service. */
export class Problem extends Error {
  /** @override */
  name = 'Problem'

  /**
   * @param {number} status
   * @param {{ type?: string, title?: string, detail?: string, errors?: { pointer: string, detail: string }[] }} body
   */
  constructor(status, body) {
    super(body.detail ?? body.title ?? `The service answered with ${status}.`)
    this.status = status
    this.type = body.type ?? 'about:blank'
    this.title = body.title ?? `Status ${status}`
    this.detail = body.detail
    this.errors = body.errors ?? []
  }
}

/** @typedef {Record<string, string | number | boolean | null | undefined>} Query */

/**
 * @param {string} path
 * @param {{ background?: boolean, signal?: AbortSignal }} [options] a request in the background does
 *   not extend the session.
 * @returns {Promise<any>}
 */
export function read(path, { background = false, signal } = {}) {
  const headers = background ? { 'X-Background': 'true' } : {}
  return send(path, { headers, ...(signal === undefined ? {} : { signal }) })
}

/**
 * @param {'POST' | 'PUT' | 'DELETE'} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<any>}
 */
export function change(method, path, body) {
  /** @type {Record<string, string>} */
  const headers = { 'X-CSRF-Token': csrfToken() }
  if (body === undefined) return send(path, { method, headers })
  headers['Content-Type'] = 'application/json'
  return send(path, { method, headers, body: JSON.stringify(body) })
}

/** @param {string} path @param {Query} query */
export function withQuery(path, query) {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') parameters.set(name, String(value))
  }
  const text = parameters.toString()
  return text === '' ? path : `${path}?${text}`
}

/** @param {string} path @param {RequestInit} init */
async function send(path, init) {
  const response = await fetch(path, init).catch((/** @type {unknown} */ error) => {
    if (init.signal?.aborted === true) throw error
    throw new Problem(0, {
      title: 'The service cannot be reached',
      detail: 'It may be restarting.',
    })
  })
  if (response.status === 204) return undefined
  const body = await response.json().catch(() => ({}))
  if (response.ok) return body
  const problem = new Problem(response.status, body)
  if (problem.type.endsWith('/session-ended')) endSession()
  throw problem
}
