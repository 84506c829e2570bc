
#endif /* SOFTCUDA_H */
