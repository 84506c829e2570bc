
#endif /* CUSHIM_H */
