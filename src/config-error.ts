// The error of a wrong or missing setting. It stops the process at its start.

export class ConfigError extends Error {
  override name = 'ConfigError'
}
